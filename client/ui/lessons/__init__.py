"""A guided first game: lessons on real positions, judged by the real engine."""
