//! No two files of a crate import each other, but for a module and the parts that it is made of.
//!
//! A file is taken to import another if it names something of it by a path that begins with `crate`, `super` or `self`.
//! Names that a module passes on (`pub use part::Name`) belong to the file that they come from. What a module takes
//! from its own parts is no import: it consists of them. Tests inside of files are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules by their path from the root of the crate, such as `layer::inducing`; the root is "".
type Modules = BTreeMap<String, Module>;

#[derive(Default)]
struct Module {
    /// The file, from the root of the repository.
    file: String,
    /// All paths that it names, from the root of the crate.
    paths: BTreeSet<String>,
    /// Names that it passes on, with the path of each.
    passed_on: BTreeMap<String, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The parent of a module; nothing above the root.
fn parent(module: &str) -> Option<&str> {
    match module.rsplit_once("::") {
        Some((parent, _)) => Some(parent),
        None if module.is_empty() => None,
        None => Some(""),
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// A path as it stands in a file of `module`, from the root of the crate; nothing if it leads elsewhere.
fn resolved(module: &str, path: &str) -> Option<String> {
    let (mut base, mut rest) = match path.split_once("::") {
        Some(("crate", rest)) => (String::new(), rest),
        Some(("self", rest)) => (module.to_owned(), rest),
        Some(("super", rest)) => (parent(module)?.to_owned(), rest),
        _ => return None,
    };
    while let Some(above) = rest.strip_prefix("super::") {
        (base, rest) = (parent(&base)?.to_owned(), above);
    }
    Some(join(&base, rest))
}

/// The code of a file without comments and the tests at its end.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |w: &[&str]| w[0] == "#[cfg(test)]" && w[1].starts_with("mod ") && w[1].ends_with('{');
    let end = lines.windows(2).position(is_tests).unwrap_or(lines.len());
    let code: Vec<&str> = lines[..end].iter().map(|line| line.split("//").next().unwrap_or_default()).collect();
    code.join("\n")
}

/// All paths of a `use` tree such as `a::{b, c::{self, d as e}}`, each with the name it is known by.
fn leaves(tree: &str, before: &str, out: &mut Vec<(String, String)>) {
    let tree = tree.trim();
    if let Some((head, inner)) = tree.split_once('{') {
        let head = format!("{before}{}", head.trim());
        let inner = inner.trim().strip_suffix('}').unwrap_or(inner);
        let (mut depth, mut start) = (0, 0);
        for (i, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    leaves(&inner[start..i], &head, out);
                    start = inner.len().min(i + 1);
                }
                _ => {}
            }
        }
    } else if !tree.is_empty() {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = format!("{before}{path}");
        let path = path.strip_suffix("::self").unwrap_or(&path).to_owned();
        let last = path.rsplit("::").next().unwrap_or_default().to_owned();
        out.push((path, if name.is_empty() { last } else { name.trim().to_owned() }));
    }
}

/// Paths inside of code, such as `crate::error::expect_size(…)`.
fn inline_paths(code: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let begins = |word: &&str| ["crate::", "super::", "self::"].iter().any(|prefix| word.starts_with(prefix));
    code.split(move |c: char| !is_path(c)).filter(begins)
}

/// The modules of a crate whose sources are in `folder`, without what they name.
fn find_modules(folder: &Path, module: &str, modules: &mut Modules) {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("UTF-8").to_owned();
        if path.is_dir() {
            find_modules(&path, &join(module, &stem), modules);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let is_root = ["lib", "main", "mod"].contains(&stem.as_str());
            let name = if is_root { module.to_owned() } else { join(module, &stem) };
            let file = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            modules.insert(name, Module { file, ..Module::default() });
        }
    }
}

/// The `use` declarations of a file: what stands before the word, and the tree.
fn uses(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        let starts = statement.match_indices("use ").map(|(at, _)| at);
        let at = starts.filter(|at| *at == 0 || statement[..*at].ends_with(['\n', ' ', ')'])).last();
        if let Some(at) = at {
            found.push((statement[..at].rsplit('\n').next().unwrap_or_default().trim(), &statement[at + 4..]));
        }
    }
    found
}

/// What the modules name and pass on.
fn read_modules(modules: &mut Modules) {
    let names: BTreeSet<String> = modules.keys().cloned().collect();
    for (name, module) in modules.iter_mut() {
        let text = code(&fs::read_to_string(root().join(&module.file)).expect("a source"));
        for (before, tree) in uses(&text) {
            let mut found = Vec::new();
            leaves(tree, "", &mut found);
            for (path, known_as) in found {
                // A path may begin with a part of the module.
                let first = path.split("::").next().unwrap_or_default();
                let own = names.contains(&join(name, first)).then(|| join(name, &path));
                let Some(path) = own.or_else(|| resolved(name, &path)) else { continue };
                if before.starts_with("pub") {
                    module.passed_on.insert(known_as, path.clone());
                }
                module.paths.insert(path);
            }
        }
        module.paths.extend(inline_paths(&text).filter_map(|path| resolved(name, path)));
    }
}

/// The module in which a path ends, after names that are passed on.
fn home(modules: &Modules, path: &str, depth: usize) -> String {
    let mut module = path;
    while !modules.contains_key(module) {
        module = parent(module).unwrap_or_default();
    }
    let rest = path[module.len()..].trim_start_matches("::");
    let name = rest.split("::").next().unwrap_or_default();
    match modules[module].passed_on.get(name) {
        Some(from) if depth < 8 && from != path => home(modules, from, depth + 1),
        _ => module.to_owned(),
    }
}

/// Which modules each one imports.
fn imports(modules: &Modules) -> BTreeMap<&str, BTreeSet<String>> {
    let of_module = |(name, module): (&String, &Module)| {
        let is_part = |other: &String| name.is_empty() || other.starts_with(&format!("{name}::"));
        let homes = module.paths.iter().map(|path| home(modules, path, 0));
        homes.filter(|other| other != name && !is_part(other)).collect()
    };
    modules.iter().map(|entry| (entry.0.as_str(), of_module(entry))).collect()
}

/// A circle of imports, if there is one: every module of it imports the next.
fn circle(imports: &BTreeMap<&str, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        at: &str,
        imports: &BTreeMap<&str, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(start) = way.iter().position(|module| module == at) {
            return Some(way[start..].to_vec());
        }
        if done.contains(at) {
            return None;
        }
        way.push(at.to_owned());
        let found = imports[at].iter().find_map(|next| visit(next, imports, way, done));
        way.pop();
        done.insert(at.to_owned());
        found
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| visit(module, imports, &mut Vec::new(), &mut done))
}

#[test]
fn imports_run_one_way() {
    let crates = fs::read_dir(root().join("crates")).expect("crates");
    let mut crates: Vec<PathBuf> = crates.map(|entry| entry.expect("an entry").path().join("src")).collect();
    crates.sort();
    let mut circles = Vec::new();
    for folder in crates.iter().filter(|folder| folder.is_dir()) {
        let mut modules = Modules::new();
        find_modules(folder, "", &mut modules);
        read_modules(&mut modules);
        let mut imports = imports(&modules);
        // Each circle is told once: its first import is taken away before the next is looked for.
        while let Some(circle) = circle(&imports) {
            let files: Vec<&str> = circle.iter().map(|name| modules[name].file.as_str()).collect();
            circles.push(files.join(" -> "));
            let next = circle.get(1).unwrap_or(&circle[0]);
            if let Some(found) = imports.get_mut(circle[0].as_str()) {
                found.remove(next);
            }
        }
    }
    assert!(circles.is_empty(), "{} circles of imports:\n{}", circles.len(), circles.join("\n"));
}

#[test]
fn a_circle_is_found_and_passing_on_is_none() {
    let module = |paths: &[&str], passed_on: &[(&str, &str)]| Module {
        file: String::new(),
        paths: paths.iter().map(|p| (*p).to_owned()).collect(),
        passed_on: passed_on.iter().map(|(n, p)| ((*n).to_owned(), (*p).to_owned())).collect(),
    };
    let mut modules: Modules = [
        ("", module(&["a::A"], &[("A", "a::A")])),
        // A module, one of its parts, and a neighbour that takes what the part defines from the root.
        ("a", module(&["a::part::A"], &[("A", "a::part::A")])),
        ("a::part", module(&["a::Shared"], &[])),
        ("b", module(&["A"], &[])),
        ("c", module(&["b::B"], &[])),
    ]
    .map(|(name, module)| (name.to_owned(), module))
    .into();
    assert_eq!(imports(&modules)["b"], BTreeSet::from(["a::part".to_owned()]));
    assert_eq!(circle(&imports(&modules)), None);
    modules.get_mut("a::part").expect("a part").paths.insert("c::C".to_owned());
    assert_eq!(circle(&imports(&modules)), Some(vec!["a::part".into(), "c".into(), "b".into()]));
}

#[test]
fn use_trees_are_taken_apart() {
    let mut found = Vec::new();
    leaves("super::{a::{self, B as C}, d}", "", &mut found);
    let found: Vec<(&str, &str)> = found.iter().map(|(path, name)| (path.as_str(), name.as_str())).collect();
    assert_eq!(found, [("super::a", "a"), ("super::a::B", "C"), ("super::d", "d")]);
    assert_eq!(resolved("x::y", "super::super::z").as_deref(), Some("z"));
    assert_eq!(resolved("x::y", "std::fs"), None);
}
