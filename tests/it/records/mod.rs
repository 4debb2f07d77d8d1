//! Records on tasks where it matters: fencing, interrupted and repeated runs, receipts of messages.

mod evidence_run;
mod receipts;
mod stale_worker;
