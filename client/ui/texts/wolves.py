"""What the wolves turn out to be, and what they had looked like to everybody else."""
