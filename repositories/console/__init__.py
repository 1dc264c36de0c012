"""What all command-line programs share: options, output, exit codes, passwords, progress. No Django."""
