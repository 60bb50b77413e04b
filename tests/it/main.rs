//! End to end: the real server as its users meet it, and the shape of the code.

mod agreement;
mod clock;
mod damage;
mod deployment;
mod exactly_once;
mod file_formats;
mod fixture;
mod history;
mod http;
mod kills;
mod late_rows;
mod limits;
mod prefixes;
mod psql;
mod restart;
mod state_bound;
mod subscribe;
mod tidy;
mod use_cases;
mod wire;
mod writes;
