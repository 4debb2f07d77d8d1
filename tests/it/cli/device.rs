//! `fairway device …`; what paired browsers may do is told in `tests/it/api/devices.rs`.

use crate::common::TestProject;

#[test]
fn devices_are_listed_and_revoked_by_name() {
    let world = TestProject::new();
    insta::assert_snapshot!(world.transcript(&[
        "fairway device list",
        "fairway device pair",
        "fairway device pair --expires 2y",
        "fairway device revoke phone",
    ]), @"
    $ fairway device list
    no browser is paired: fairway device pair
    $ fairway device pair
    error: no server shows the page of this project
    hint: start one in another terminal: fairway serve --http 7431
    [exit 3]
    $ fairway device pair --expires 2y
    error: invalid value '2y' for '--expires <DURATION>': '2y' is not between 1m and 400d: browsers keep no key longer
    hint: read the help: fairway device pair --help
    [exit 2]
    $ fairway device revoke phone
    error: there is no device 'phone'
    hint: list the devices: fairway device list
    [exit 3]
    ");
    let device = |name: &str, from: &str| {
        format!(
            r#"{{"name":"{name}","key":"00","access":"full","way":"local","paired_from":{from},"paired_at":0,"expires_at":9000000000000,"seen_at":0}}"#
        )
    };
    let (phone, tablet) = (device("phone", "null"), device("tablet", "\"phone\""));
    let text = format!(r#"{{"version":1,"host":null,"devices":[{phone},{tablet}],"pairings":[]}}"#);
    let file = world.root().join(".fairway/devices.json");
    std::fs::write(&file, &text).unwrap();
    let refused = world.run(["device", "list", "--json"]).refuses(1, "devices_unreadable");
    assert!(refused.error()["hint"].as_str().unwrap().contains(": mv "), "{refused:?}");
    // `doctor` tells it, and another mode does not make a file good that others could have written.
    let certificate = file.with_file_name("page-certificate.json");
    let mut private = std::fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(private.write(true).create_new(true), 0o600).open(&certificate).unwrap();
    let ends_at = world.now().millis() + 86_400_000;
    for (content, code) in [
        ("{", "certificate_unusable"),
        (&format!(r#"{{"certificate":"00","key":"00","ends_at":{ends_at}}}"#), "certificate_ends"),
    ] {
        std::fs::write(&certificate, content).unwrap();
        let report = world.run(["doctor", "--fix", "--json"]).stdout;
        assert!(report.contains("devices_unreadable") && report.contains(code), "{report}");
    }
    assert_ne!(std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap()) & 0o077, 0);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(world.json(["device", "ls"])[1]["paired_from"], "phone");
    insta::assert_snapshot!(world.transcript(&[
        "fairway device list --quiet",
        "fairway device revoke tablet",
        "fairway device revoke tablets",
        "fairway device revoke phone",
    ]), @"
    $ fairway device list --quiet
    phone
    tablet
    $ fairway device revoke tablet
    revoked tablet
    $ fairway device revoke tablets
    error: there is no device 'tablets'
    hint: list the devices: fairway device list
    [exit 3]
    $ fairway device revoke phone
    revoked phone
    ");
}
