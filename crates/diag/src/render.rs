//! Diagnostics as text: a header, the source lines with their labels, and what to do.
//!
//! The layout is that of the `annotate-snippets` crate, which rustc's reports have made familiar. Related places in the
//! same file are marked in the same excerpt; those in other files get excerpts of their own.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::{Diagnostic, Label, Severity, SourceFile, SourceMap, Span};

/// Columns of a rendered report. Fixed, so that a report does not depend on the terminal that shows it.
const WIDTH_COLUMNS: usize = 120;

/// Whether the text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderStyle {
    /// For files, pipes and tests.
    Plain,
    /// For terminals.
    Coloured,
}

/// The report of one diagnostic, with the source lines it speaks of. Ends with a newline.
///
/// Spans that reach past the end of their file are cut off there.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, style: RenderStyle) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let renderer = match style {
        RenderStyle::Plain => Renderer::plain(),
        RenderStyle::Coloured => Renderer::styled(),
    };
    let file = diagnostic.primary.span.file;
    let (here, elsewhere): (Vec<&Label>, Vec<&Label>) =
        diagnostic.related.iter().partition(|label| label.span.file == file);
    let lines = Lines::around(here.iter().copied().chain([&diagnostic.primary]), sources);
    let primary = lines.annotation(&diagnostic.primary, AnnotationKind::Primary);
    let mut excerpt = lines.excerpt().annotation(primary);
    for label in here {
        excerpt = excerpt.annotation(lines.annotation(label, AnnotationKind::Context));
    }
    let mut group = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.name()).element(excerpt);
    for label in elsewhere {
        let lines = Lines::around([label], sources);
        group = group.element(lines.excerpt().annotation(lines.annotation(label, AnnotationKind::Context)));
    }
    if !diagnostic.help.is_empty() {
        group = group.element(Level::HELP.message(diagnostic.help.as_str()));
    }
    let mut text = renderer.term_width(WIDTH_COLUMNS).render(&[group]);
    text.push('\n');
    text
}

/// The lines of a file that a report speaks of. The renderer reads all that it is given, so a large file is not given whole.
struct Lines<'a> {
    source: &'a SourceFile,
    /// Whole lines.
    bytes: Range<usize>,
}

impl<'a> Lines<'a> {
    /// Lines from the first to the last label, all in one file.
    fn around<'l>(labels: impl IntoIterator<Item = &'l Label>, sources: &'a SourceMap) -> Lines<'a> {
        let spans: Vec<Span> = labels.into_iter().map(|label| label.span).collect();
        let covered = spans.iter().copied().reduce(Span::to).expect("a report has a place");
        let source = sources.file(covered.file);
        let bytes = clamped(covered, source);
        // What is missing at the end of a file is shown behind its last line.
        let at_end = bytes.start == source.text.len() && source.text.ends_with('\n');
        let before = &source.text[..bytes.start - usize::from(at_end)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = source.text[bytes.end..].find('\n').map_or(source.text.len(), |at| bytes.end + at + 1);
        Lines { source, bytes: start..end }
    }

    fn excerpt(&self) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let first = self.source.position(self.bytes.start as u32).line;
        Snippet::source(&self.source.text[self.bytes.clone()])
            .line_start(first as usize)
            .path(self.source.name.as_str())
    }

    fn annotation<'l>(&self, label: &'l Label, kind: AnnotationKind) -> annotate_snippets::Annotation<'l> {
        let bytes = clamped(label.span, self.source);
        let marked = kind.span(bytes.start - self.bytes.start..bytes.end - self.bytes.start);
        if label.text.is_empty() { marked } else { marked.label(label.text.as_str()) }
    }
}

/// The bytes of a span, within the file and on character boundaries.
fn clamped(span: Span, source: &SourceFile) -> Range<usize> {
    let clamp = |offset: u32| source.text.floor_char_boundary(offset as usize);
    let start = clamp(span.start);
    start..clamp(span.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::{RenderStyle, render};
    use crate::{Code, Diagnostic, FileId, SourceMap, Span};

    fn sources() -> SourceMap {
        let mut sources = SourceMap::default();
        sources.add("app.clnp".to_owned(), "import \"a.clnp\";\nparse[1] -> counter\nñ -> b\n".to_owned());
        sources.add("a.clnp".to_owned(), ".element counter <1, 1> {\n}\n".to_owned());
        sources
    }

    fn span(file: u32, start: u32, end: u32) -> Span {
        Span { file: FileId(file), start, end }
    }

    #[test]
    fn primary_related_and_help() {
        let diagnostic = Diagnostic::new(Code::E0101, span(0, 17, 25), "channel types differ", "connect parse[2]")
            .label("a `FlowKey` message")
            .related(span(0, 29, 36), "takes flits")
            .related(span(1, 9, 16), "declared here");
        let expected = "\
error[E0101]: channel types differ
 --> app.clnp:2:1
  |
2 | parse[1] -> counter
  | ^^^^^^^^    ------- takes flits
  | |
  | a `FlowKey` message
  |
 ::: a.clnp:1:10
  |
1 | .element counter <1, 1> {
  |          ------- declared here
  |
  = help: connect parse[2]
";
        assert_eq!(render(&diagnostic, &sources(), RenderStyle::Plain), expected);
    }

    #[test]
    fn warning_without_labels_and_columns_in_characters() {
        let diagnostic = Diagnostic::new(Code::W0101, span(0, 43, 44), "odd", "");
        let expected = "\
warning[W0101]: odd
 --> app.clnp:3:6
  |
3 | ñ -> b
  |      ^
";
        assert_eq!(render(&diagnostic, &sources(), RenderStyle::Plain), expected);
    }

    #[test]
    fn spans_past_the_end_are_cut() {
        let diagnostic = Diagnostic::new(Code::E0103, span(1, 100, 200), "missing `}`", "close it").label("here");
        let text = render(&diagnostic, &sources(), RenderStyle::Plain);
        assert_eq!(text.lines().next(), Some("error[E0103]: missing `}`"));
    }

    #[test]
    fn coloured_differs_only_in_colours() {
        let diagnostic = Diagnostic::new(Code::E0101, span(0, 17, 25), "channel types differ", "connect parse[2]");
        let coloured = render(&diagnostic, &sources(), RenderStyle::Coloured);
        assert!(coloured.starts_with("\u{1b}["));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + rest[at..].find('m').expect("colour codes end with m") + 1..];
        }
        plain.push_str(rest);
        assert_eq!(plain, render(&diagnostic, &sources(), RenderStyle::Plain));
    }
}
