"""The player at the table: the cursor, the hand, the steps of the scoring, the votes."""
