"""A trace as swim lanes: one lane for each kind of event, in the order in which things happened."""
