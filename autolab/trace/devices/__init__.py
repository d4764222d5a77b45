"""What devices do while code runs: memory, copies, queues and waits."""
