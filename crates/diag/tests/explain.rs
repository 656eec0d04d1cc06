//! Every code has an explain page that opens with the code and its title.

use diag::Code;

#[test]
fn pages_open_with_code_and_title() {
    let wrong: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| code.page().lines().next() != Some(&format!("# {}: {}", code.name(), code.title())))
        .map(|code| code.name())
        .collect();
    assert_eq!(wrong, Vec::<&str>::new(), "pages whose first line is not `# CODE: title`");
}

#[test]
fn pages_show_a_wrong_and_a_right_example() {
    let wrong: Vec<&str> =
        Code::ALL.iter().filter(|code| code.page().matches("```").count() < 4).map(|code| code.name()).collect();
    assert_eq!(wrong, Vec::<&str>::new(), "pages with fewer than two examples");
}

#[test]
fn names_parse_back() {
    for &code in Code::ALL {
        assert_eq!(Code::parse(&code.name().to_lowercase()), Some(code));
    }
    assert_eq!(Code::parse("E9999"), None);
}
