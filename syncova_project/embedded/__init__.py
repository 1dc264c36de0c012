"""The stack on embedded servers: PostgreSQL and Valkey from wheels, and the processes beside them."""
