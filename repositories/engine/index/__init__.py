"""Index: which chunk lies where, as segments on the medium and as a look-up structure in memory."""
