//! Lowering and the operators together: text in, dataflow or rows out. The oracle is the same plan run once by DataFusion.

mod arrival_order;
mod failures;
mod golden;
mod harness;
mod join_times;
mod notices;
mod planner;
mod random;
mod recompute;
mod session;
mod watermark;
