//! The `flitwork` program; see [`flitwork::cli`].

fn main() -> flitwork::cli::Exit {
    flitwork::cli::main()
}
