//! `fairway review …`

use crate::common::{TestProject, fixtures};

#[test]
fn a_review_is_asked_for_and_given_in_a_domain() {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "backend", None);
    fixtures::add_session(&world, "s2", "security", None);
    insta::assert_snapshot!(world.transcript(&[
        "fairway task add T-1 'one' --review-domain data --review-domain security",
        "fairway --session s1 claim T-1",
        "fairway --session s1 review record T-1 --verdict approve",
        "fairway review request T-1 --domain security --reviewer s2",
        "fairway review request T-1 --domain security",
        "fairway --session s2 review record T-1 --verdict changes --notes 'tokens in the log'",
        "fairway --session s2 review record T-1 --verdict approve --domain security --commit 0123456789abcdef",
        "fairway --session s1 review record T-1 --verdict approve --domain data",
        "fairway review list T-1",
        "fairway task add T-2 'two'",
        "fairway review record T-2 --verdict approve",
        "fairway review record T-2 --verdict perhaps --domain x",
    ]), @"
    $ fairway task add T-1 'one' --review-domain data --review-domain security
    added T-1
    $ fairway --session s1 claim T-1
    claimed T-1: one
    $ fairway --session s1 review record T-1 --verdict approve
    error: which domain? --domain data or --domain security
    [exit 2]
    $ fairway review request T-1 --domain security --reviewer s2
    requested review 1 of T-1 in the domain 'security'
    $ fairway review request T-1 --domain security
    unchanged: review 1 in the domain 'security' is requested already
    $ fairway --session s2 review record T-1 --verdict changes --notes 'tokens in the log'
    recorded review 1 of T-1: changes in the domain 'security'
    $ fairway --session s2 review record T-1 --verdict approve --domain security --commit 0123456789abcdef
    recorded review 2 of T-1: approve in the domain 'security'
    $ fairway --session s1 review record T-1 --verdict approve --domain data
    recorded review 3 of T-1: approve in the domain 'data'
    an approval by s1, who has claimed T-1 before, may not count
    $ fairway review list T-1
    ID  DOMAIN    STATUS    VERDICT  COMMIT            REVIEWER  AGE
    1   security  recorded  changes  -                 s2        3s
    2   security  recorded  approve  0123456789abcdef  s2        2s
    3   data      recorded  approve  -                 s1        1s
    $ fairway task add T-2 'two'
    added T-2
    $ fairway review record T-2 --verdict approve
    error: T-2 has no domain to review: name one with --domain
    [exit 2]
    $ fairway review record T-2 --verdict perhaps --domain x
    error: invalid value 'perhaps' for '--verdict <VERDICT>': 'perhaps' is none of approve, changes, reject
    hint: read the help: fairway review record --help
    [exit 2]
    ");
}
