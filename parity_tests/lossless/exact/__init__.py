"""An exact model: word counts of a real text, so that every framework says the same to the last bit."""
