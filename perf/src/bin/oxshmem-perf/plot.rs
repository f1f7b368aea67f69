//! Line plots as SVG.

use plotters::prelude::*;
use std::path::Path;

/// A line, or a ceiling: a level across the whole plot.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) ceiling: bool,
}

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) series: Vec<Series>,
}

const SIZE: (u32, u32) = (900, 560);

impl Plot {
    /// Draws it into a file; x is logarithmic. Without a point there is nothing to draw.
    pub(crate) fn draw(&self, path: &Path) -> Result<(), String> {
        let points = || self.series.iter().filter(|s| !s.ceiling).flat_map(|s| &s.points);
        let (Some(left), Some(right)) =
            (points().map(|p| p.0).min_by(f64::total_cmp), points().map(|p| p.0).max_by(f64::total_cmp))
        else {
            return Ok(());
        };
        let (left, right) = if left < right { (left, right) } else { (left / 2.0, left * 2.0) };
        let all = self.series.iter().flat_map(|s| &s.points);
        let top = all.map(|p| p.1).fold(0.0, f64::max);
        self.draw_in(path, left, right, if top > 0.0 { 1.1 * top } else { 1.0 })
            .map_err(|error| format!("cannot draw {}: {error}", path.display()))
    }

    fn draw_in(
        &self,
        path: &Path,
        left: f64,
        right: f64,
        top: f64,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::new(path, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d((left..right).log_scale(), 0.0..top)?;
        chart.configure_mesh().x_desc(&self.x).y_desc(&self.y).x_label_formatter(&f64::to_string).draw()?;
        for (number, series) in self.series.iter().enumerate() {
            let colour = Palette99::pick(number).to_rgba();
            let style = colour.stroke_width(if series.ceiling { 1 } else { 2 });
            let points = match (series.ceiling, series.points.first()) {
                (true, Some(&(_, level))) => vec![(left, level), (right, level)],
                _ => series.points.clone(),
            };
            let key = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style);
            chart.draw_series(LineSeries::new(points.clone(), style))?.label(&series.name).legend(key);
            if !series.ceiling {
                chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
            }
        }
        let corner = SeriesLabelPosition::LowerRight;
        chart
            .configure_series_labels()
            .position(corner)
            .background_style(WHITE)
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(name: &str, series: Vec<Series>) -> Option<String> {
        let path = std::env::temp_dir().join(format!("oxshmem-plot-{}-{name}.svg", std::process::id()));
        let plot = Plot { title: "put".into(), x: "CTAs".into(), y: "GB/s".into(), series };
        plot.draw(&path).expect("it is drawn");
        let text = std::fs::read_to_string(&path).ok();
        let _ = std::fs::remove_file(&path);
        text
    }

    #[test]
    fn lines_and_ceilings_are_drawn_with_their_names() {
        let line =
            Series { name: "oxshmem".into(), points: vec![(1.0, 46.0), (64.0, 360.0)], ceiling: false };
        let ceiling = Series { name: "copy engine".into(), points: vec![(0.0, 388.0)], ceiling: true };
        let text = drawn("both", vec![line.clone(), ceiling]).expect("a file");
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
        for part in ["put", "CTAs", "GB/s", "oxshmem", "copy engine", "polyline"] {
            assert!(text.contains(part), "{part}");
        }
        let one = Series { points: vec![(8.0, 0.0)], ..line };
        assert!(drawn("one point", vec![one]).is_some());
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(drawn("nothing", Vec::new()), None);
    }
}
