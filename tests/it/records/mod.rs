//! Records on tasks where it matters: fencing, interrupted and repeated runs, receipts of messages.

mod evidence_run;
mod message_delivery;
mod stale_worker;
