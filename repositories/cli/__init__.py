"""`syncova-repo`: a repository by hand, with no database. One file per verb."""
