"""Keys: password slots, recovery code, and the keyring with epoch keys and life-long secrets."""
