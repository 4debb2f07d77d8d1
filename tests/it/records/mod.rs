//! Records on tasks where it matters: fencing, interrupted and repeated runs, receipts of messages.

mod evidence_run;
mod future_times;
mod message_delivery;
mod stale_worker;
