"""Sessions: leases, fences, marks, and writing between them."""
