"""The web process: how requests arrive at it. What it answers is the apps' and syncova_project.rest's."""
