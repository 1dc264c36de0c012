"""Objects: sealed records on a storage, by kind and id."""
