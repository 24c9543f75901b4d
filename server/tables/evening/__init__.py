"""An evening for many: who has signed up, who plays with whom, and the standings."""
