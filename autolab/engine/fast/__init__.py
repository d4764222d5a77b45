"""Speed beside the core: functions compiled from the records, which do what the plain ones state, and the short way back."""
