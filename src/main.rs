//! The `pairsight` binary: parses the command line and dispatches.

use std::process::ExitCode;

use clap::Parser;
use pairsight::cli::{Cli, run};

fn main() -> ExitCode {
    run(Cli::parse())
}
