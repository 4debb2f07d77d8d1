//! `fairway overlap`.

use crate::common::TestProject;

#[test]
fn transcript() {
    let world = TestProject::new();
    let seen = world.transcript(&["fairway overlap", "fairway overlap nobody"]);
    assert_eq!(
        seen,
        "$ fairway overlap\nno overlap between 0 lanes\n$ fairway overlap nobody\nerror: there is no task 'nobody'\n\
         hint: list the tasks: fairway task list\n[exit 3]\n"
    );
}
