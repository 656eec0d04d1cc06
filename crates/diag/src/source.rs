//! Source files and positions in them.
//!
//! A [`SourceMap`] owns the text of every file that was read; a [`Span`] is a byte range in one of them.

/// A file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A half-open byte range `start..end` in one file. `start <= end`, both on character boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file that holds the range.
    pub file: FileId,
    /// First byte of the range.
    pub start: u32,
    /// First byte after the range.
    pub end: u32,
}

impl Span {
    /// The smallest span that covers `self` and `other`, which must be in the same file.
    pub fn to(self, other: Span) -> Span {
        assert_eq!(self.file, other.file, "a span lies within one file");
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The empty span at the end of this one: where something missing should stand.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

/// A line and column, both from 1; columns count characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line number from 1.
    pub line: u32,
    /// Column in characters from 1.
    pub column: u32,
}

/// One source file: the name that users see, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As written in reports: the path that the user gave, or `library:core/Pass.clnp` for an embedded file.
    pub name: String,
    /// The whole text.
    pub text: String,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// Line and column of a byte offset; an offset past the end counts as the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&start| start as usize <= offset);
        let start = self.line_starts[line - 1] as usize;
        let column = self.text[start..offset].chars().count() as u32 + 1;
        Position { line: line as u32, column }
    }
}

/// All source files of one run, by [`FileId`].
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file. Text of 4 GiB or more does not fit a [`Span`] and must be refused before.
    pub fn add(&mut self, name: String, text: String) -> FileId {
        assert!(u32::try_from(text.len()).is_ok(), "callers refuse files of 4 GiB and more");
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(at, _)| at as u32 + 1)).collect();
        self.files.push(SourceFile { name, text, line_starts });
        FileId(self.files.len() as u32 - 1)
    }

    /// The file behind an id from this map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All files with their ids, in the order of adding.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(at, file)| (FileId(at as u32), file))
    }

    /// The text that a span covers.
    pub fn text(&self, span: Span) -> &str {
        &self.file(span.file).text[span.start as usize..span.end as usize]
    }

    /// `name:line:column` of the start of a span.
    pub fn place(&self, span: Span) -> String {
        let file = self.file(span.file);
        let at = file.position(span.start);
        format!("{}:{}:{}", file.name, at.line, at.column)
    }
}
