"""What the proof is made of: the contract as data, the oracle, cases, subjects, comparison and report."""
