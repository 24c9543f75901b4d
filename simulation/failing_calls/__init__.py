"""What a failing system call does to the journal."""
