"""Operations that learners rarely need. They are registered like the operations in `ops/`."""
