"""./syncova ctl against a live server on real PostgreSQL."""
