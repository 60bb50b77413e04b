//! `millpond-bench [suite ..]`: see the library's header.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    millpond_bench::run(
        std::env::args()
            .skip(1)
            .filter(|name| !name.starts_with("--"))
            .collect(),
    )
}
