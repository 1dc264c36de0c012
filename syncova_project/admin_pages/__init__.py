"""Pages of the admin for operators: lists without counts, panels, and actions that call the services of the API."""
