//! Evaluation of expressions over batches, with rows that fail told apart from rows that do not.
