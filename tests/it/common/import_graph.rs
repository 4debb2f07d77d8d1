//! The import graph of `src`, file by file: which file names an item of which other file.
//!
//! A path is followed through `use` declarations and re-exports to the file that defines the item, so a `mod.rs` that only
//! lists its children closes no cycle among them. Code under `#[cfg(test)]` does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::UseTree;
use syn::visit::Visit;

use super::rust_files::rust_files;

/// A module's path from the crate's root: `["actions", "queue", "task"]`.
type ModulePath = Vec<String>;

struct Module {
    file: PathBuf,
    /// Names that `use` brings in, with the absolute path of each.
    bindings: BTreeMap<String, ModulePath>,
    /// The modules whose items `use …::*` brings in.
    globs: Vec<ModulePath>,
    /// The names that a `*` of another file finds here: top-level items and re-exports.
    exports: BTreeSet<String>,
    /// Every path that the file names, as it is written.
    paths: Vec<Vec<String>>,
}

/// The files of a source tree and the imports between them.
pub struct ImportGraph {
    modules: BTreeMap<ModulePath, Module>,
}

/// One file imports from another; both relative to the source root.
pub type Edge = (PathBuf, PathBuf);

impl ImportGraph {
    /// Reads all sources below `root`, a crate's `src`.
    pub fn read(root: &Path) -> Self {
        let mut files = rust_files(root);
        files.retain(|file| !file.ends_with("main.rs"));
        let names: BTreeSet<ModulePath> = files.iter().map(|file| module_path(root, file)).collect();
        let mut modules = BTreeMap::new();
        for file in files {
            let path = module_path(root, &file);
            let source = fs::read_to_string(&file).unwrap();
            let syntax = syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let relative = file.strip_prefix(root).unwrap().to_owned();
            let mut collector = Collector::new(&path, &names);
            collector.visit_file(&syntax);
            collector.exports.extend(syntax.items.iter().filter_map(item_name));
            let Collector { bindings, globs, exports, paths, .. } = collector;
            modules.insert(path, Module { file: relative, bindings, globs, exports, paths });
        }
        Self { modules }
    }

    /// How many files were read.
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// Every import of an item of another file.
    pub fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (path, module) in &self.modules {
            for named in &module.paths {
                let Some(target) = self.absolute(path, named).and_then(|path| self.defining_module(&path, 0)) else {
                    continue;
                };
                let target = &self.modules[&target];
                if target.file != module.file {
                    edges.insert((module.file.clone(), target.file.clone()));
                }
            }
        }
        edges
    }

    /// The path from the crate's root of a path that `module` names; nothing for an item of another crate.
    fn absolute(&self, module: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module.as_slice(), rest].concat()),
            "super" => {
                let parent = module.split_last()?.1;
                match rest.first().map(String::as_str) {
                    Some("super") => self.absolute(&parent.to_vec(), rest),
                    _ => Some([parent, rest].concat()),
                }
            }
            name => {
                let child: ModulePath = [module.as_slice(), &[name.to_owned()]].concat();
                if self.modules.contains_key(&child) {
                    return Some([module.as_slice(), path].concat());
                }
                let binding = self.modules[module].bindings.get(name)?;
                Some([binding.as_slice(), rest].concat())
            }
        }
    }

    /// The module that defines the item at `path`, through re-exports.
    fn defining_module(&self, path: &[String], depth: usize) -> Option<ModulePath> {
        let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
        let module = path[..length].to_vec();
        let (Some(item), true) = (path.get(length), depth < 16) else { return Some(module) };
        let declared = &self.modules[&module];
        let exports =
            |module: &&ModulePath| self.modules.get(*module).is_some_and(|found| found.exports.contains(item));
        let by_glob = || Some([declared.globs.iter().find(exports)?.as_slice(), std::slice::from_ref(item)].concat());
        if let Some(binding) = declared.bindings.get(item).cloned().or_else(by_glob) {
            let onward = [binding.as_slice(), &path[length + 1..]].concat();
            if onward != path {
                return self.defining_module(&onward, depth + 1);
            }
        }
        Some(module)
    }

    /// The groups of files that import one another, each sorted.
    pub fn cycles(&self) -> Vec<Vec<PathBuf>> {
        strongly_connected(&self.edges())
    }
}

/// The name of an item that another file can import.
fn item_name(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn module_path(root: &Path, file: &Path) -> ModulePath {
    let inside = file.strip_prefix(root).unwrap().with_extension("");
    let mut path: ModulePath = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

/// Collects the paths that one file names.
struct Collector<'a> {
    module: &'a ModulePath,
    names: &'a BTreeSet<ModulePath>,
    bindings: BTreeMap<String, ModulePath>,
    globs: Vec<ModulePath>,
    exports: BTreeSet<String>,
    paths: Vec<Vec<String>>,
}

impl<'a> Collector<'a> {
    fn new(module: &'a ModulePath, names: &'a BTreeSet<ModulePath>) -> Self {
        Self {
            module,
            names,
            bindings: BTreeMap::new(),
            globs: Vec::new(),
            exports: BTreeSet::new(),
            paths: Vec::new(),
        }
    }

    /// The absolute path of a `use`; nothing for another crate.
    fn absolute(&self, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let mut base = self.module.clone();
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => return Some([base.as_slice(), rest].concat()),
            "super" => {}
            name => {
                base.push(name.to_owned());
                return self.names.contains(&base).then(|| [base.as_slice(), rest].concat());
            }
        }
        let ups = path.iter().take_while(|part| *part == "super").count();
        base.truncate(base.len().checked_sub(ups)?);
        Some([base.as_slice(), &path[ups..]].concat())
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        let with = |name: String| [prefix, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(path.ident.to_string())),
            UseTree::Name(name) if name.ident == "self" => self.bind(prefix, prefix.last().unwrap()),
            UseTree::Name(name) => self.bind(&with(name.ident.to_string()), &name.ident.to_string()),
            UseTree::Rename(rename) => self.bind(&with(rename.ident.to_string()), &rename.rename.to_string()),
            UseTree::Glob(_) => {
                self.globs.extend(self.absolute(prefix));
                self.keep(prefix.to_vec());
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.import(item, prefix)),
        }
    }

    fn bind(&mut self, path: &[String], name: &str) {
        if let Some(absolute) = self.absolute(path) {
            self.paths.push([&["crate".to_owned()], absolute.as_slice()].concat());
            self.bindings.insert(name.to_owned(), absolute);
        }
    }

    /// Paths inside a macro's arguments, which have no syntax tree.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if colons == 2 => path.push(ident.to_string()),
                TokenTree::Ident(ident) => {
                    self.keep(std::mem::replace(&mut path, vec![ident.to_string()]));
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.keep(std::mem::take(&mut path));
                    self.tokens(group.stream());
                }
                _ => self.keep(std::mem::take(&mut path)),
            }
            colons = 0;
        }
        self.keep(path);
    }

    fn keep(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.paths.push(path);
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl Visit<'_> for Collector<'_> {
    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            let before: BTreeSet<String> = self.bindings.keys().cloned().collect();
            self.import(&item.tree, &[]);
            if matches!(item.vis, syn::Visibility::Public(_)) {
                let added = self.bindings.keys().filter(|name| !before.contains(*name)).cloned();
                self.exports.extend(added.collect::<Vec<_>>());
            }
        }
    }

    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &syn::ItemImpl) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        self.keep(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &syn::Macro) {
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }

    // A restriction such as `pub(crate)` names a module and imports nothing.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}
}

/// Tarjan's algorithm: the components of more than one node.
pub fn strongly_connected(edges: &BTreeSet<Edge>) -> Vec<Vec<PathBuf>> {
    #[derive(Default)]
    struct Search<'a> {
        next: BTreeMap<&'a Path, Vec<&'a Path>>,
        index: BTreeMap<&'a Path, usize>,
        low: BTreeMap<&'a Path, usize>,
        stack: Vec<&'a Path>,
        found: Vec<Vec<PathBuf>>,
    }
    fn visit<'a>(search: &mut Search<'a>, node: &'a Path) {
        let index = search.index.len();
        search.index.insert(node, index);
        search.low.insert(node, index);
        search.stack.push(node);
        for target in search.next.get(node).cloned().unwrap_or_default() {
            if !search.index.contains_key(target) {
                visit(search, target);
                search.low.insert(node, search.low[node].min(search.low[target]));
            } else if search.stack.contains(&target) {
                search.low.insert(node, search.low[node].min(search.index[target]));
            }
        }
        if search.low[node] == search.index[node] {
            let start = search.stack.iter().position(|member| *member == node).unwrap();
            let mut component: Vec<PathBuf> = search.stack.split_off(start).into_iter().map(Path::to_owned).collect();
            component.sort();
            if component.len() > 1 {
                search.found.push(component);
            }
        }
    }
    let mut search = Search::default();
    for (from, to) in edges {
        search.next.entry(from).or_default().push(to);
    }
    for (from, _) in edges {
        if !search.index.contains_key(from.as_path()) {
            visit(&mut search, from);
        }
    }
    search.found
}
