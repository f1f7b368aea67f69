//! Rows as SVG: a band for each PE, a line for each row, time from left to right, and what the colours mean.

use std::fmt::Write as _;

use super::kind::{self, Kind};
use super::read::{Event, Pe, Timeline};

/// Sizes in pixels.
const WIDTH: f64 = 1200.0;
const LABELS: f64 = 150.0;
const MARGIN: f64 = 12.0;
const ROW: f64 = 15.0;
const BAR: f64 = 11.0;
const HEADING: f64 = 20.0;
const AXIS: f64 = 26.0;
/// A bar is at least so wide.
const THINNEST: f64 = 0.8;
/// Bars of one kind that are nearer than this are one.
const NEAR: f64 = 0.4;
/// About how many steps the axis has.
const STEPS: f64 = 10.0;

/// The picture of what happened in the window, in microseconds, with at most `rows` rows of blocks for each PE.
pub(super) fn svg(timeline: &Timeline, (from, to): (f64, f64), rows: usize) -> String {
    let scale = Scale { from, to };
    let mut body = String::new();
    let mut kinds: Vec<Kind> = Vec::new();
    let top = MARGIN + AXIS;
    let mut y = top;
    for pe in &timeline.pes {
        let title = format!("{}, {}", pe.name, pe.device);
        text(&mut body, (MARGIN, y + 14.0), "heading", &title);
        y += HEADING;
        let (shown, hidden) = shown(pe, rows);
        for row in shown {
            text(&mut body, (MARGIN, y + BAR - 1.0), "label", &pe.rows[row].name);
            bars(&mut body, &pe.rows[row].events, &scale, y, &mut kinds);
            y += ROW;
        }
        if hidden > 0 {
            text(&mut body, (MARGIN, y + BAR - 1.0), "label", &format!("and {hidden} more blocks or warps"));
            y += ROW;
        }
        y += MARGIN / 2.0;
    }
    let axis = axis(&scale, top, y);
    let (legend, height) = legend(&kinds, y + MARGIN);
    let style = "text{font-family:Helvetica,Arial,sans-serif;fill:#222}.label{font-size:10px}\
                 .heading{font-size:12px;font-weight:bold}.tick{font-size:10px;text-anchor:middle;fill:#555}";
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\">\n\
         <style>{style}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{axis}{body}{legend}</svg>\n"
    )
}

/// The rows of a PE that are drawn, and how many are not.
fn shown(pe: &Pe, most: usize) -> (Vec<usize>, usize) {
    let of_device = |row: &usize| pe.rows[*row].events.iter().any(|event| event.category == "device");
    let (blocks, others): (Vec<usize>, Vec<usize>) = (0..pe.rows.len()).partition(of_device);
    let hidden = blocks.len().saturating_sub(most);
    (others.into_iter().chain(blocks.into_iter().take(most)).collect(), hidden)
}

struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    fn x(&self, time: f64) -> f64 {
        LABELS + (time - self.from) / (self.to - self.from) * (WIDTH - LABELS - MARGIN)
    }
}

fn bars(svg: &mut String, events: &[Event], scale: &Scale, y: f64, kinds: &mut Vec<Kind>) {
    // Where the last bar of each kind ends.
    let mut ends: Vec<(Kind, f64)> = Vec::new();
    for event in events.iter().filter(|event| event.end >= scale.from && event.begin <= scale.to) {
        let kind = kind::of(&event.name, &event.category);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
        let (left, right) = (scale.x(event.begin.max(scale.from)), scale.x(event.end.min(scale.to)));
        let drawn = right.max(left + THINNEST);
        match ends.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, end)) if right < *end + NEAR => continue,
            Some((_, end)) => *end = drawn,
            None => ends.push((kind, drawn)),
        }
        let said = escape(&format!("{}: {:.3} µs, {}", event.name, event.end - event.begin, event.more));
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.2}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{BAR}\" fill=\"{}\"><title>{said}</title></rect>",
            drawn - left,
            kind.colour
        );
    }
}

/// Lines from `top` to `bottom` with their times.
fn axis(scale: &Scale, top: f64, bottom: f64) -> String {
    let (mut svg, step) = (String::new(), step(scale.to - scale.from));
    let (name, unit) = if step >= 1000.0 { ("ms", 1000.0) } else { ("µs", 1.0) };
    let mut number = (scale.from / step).ceil();
    while number * step <= scale.to {
        let (time, x) = (number * step, scale.x(number * step));
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.2}\" y1=\"{top:.1}\" x2=\"{x:.2}\" y2=\"{bottom:.1}\" stroke=\"#e3e3e3\"/>"
        );
        text(&mut svg, (x, top - 6.0), "tick", &format!("{} {name}", time / unit));
        number += 1.0;
    }
    svg
}

/// A step of 1, 2 or 5 times a power of ten that divides a span well.
fn step(span: f64) -> f64 {
    let rough = span / STEPS;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough)
}

/// The kinds side by side, and where the picture ends.
fn legend(kinds: &[Kind], y: f64) -> (String, f64) {
    let (mut svg, mut x, mut y) = (String::new(), LABELS, y);
    for kind in kinds {
        let width = 24.0 + 6.5 * kind.name.len() as f64;
        if x + width > WIDTH - MARGIN {
            (x, y) = (LABELS, y + ROW);
        }
        let colour = kind.colour;
        let _ =
            writeln!(svg, "<rect x=\"{x}\" y=\"{y:.1}\" width=\"12\" height=\"{BAR}\" fill=\"{colour}\"/>");
        text(&mut svg, (x + 16.0, y + BAR - 1.0), "label", kind.name);
        x += width;
    }
    (svg, y + ROW + MARGIN)
}

fn text(svg: &mut String, (x, y): (f64, f64), class: &str, said: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.2}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escape(said));
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::read::Row;

    fn event(name: &str, category: &str, begin: f64, end: f64) -> Event {
        Event { name: name.into(), category: category.into(), begin, end, more: String::new() }
    }

    #[test]
    fn what_lies_in_the_window_is_drawn_once() {
        let block = |number: u32, events| Row { name: format!("block {number}"), events };
        let rows = vec![
            Row { name: "host".into(), events: vec![event("launch <k>", "host", 0.0, 1.0)] },
            block(0, vec![event("put", "device", 2.0, 3.0), event("put", "device", 3.0, 3.001)]),
            block(1, vec![event("wait_until", "device", 20.0, 30.0)]),
        ];
        let pe = Pe { name: "PE 0".into(), device: "H200".into(), rows };
        let picture = svg(&Timeline { pes: vec![pe], end: 30.0 }, (0.0, 10.0), 1);
        for part in ["PE 0, H200", "launch &lt;k&gt;", "block 0", "and 1 more", ">2 µs<"] {
            assert!(picture.contains(part), "{part} in {picture}");
        }
        assert!(!picture.contains("block 1<") && !picture.contains("wait"), "{picture}");
        assert_eq!(picture.matches("<title>put").count(), 1, "the second is within the first bar");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([0.9, 30.0, 150.0, 100_000.0].map(step), [0.1, 5.0, 20.0, 10_000.0]);
    }
}
