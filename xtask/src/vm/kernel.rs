//! Which kernels to boot: series of Debian's cloud kernels, fetched once and kept, or an image by its path.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::apt::Apt;

/// Every series that a release is tested on: the floor, the stable releases, and the newest there is.
pub(crate) const ALL: [&str; 5] = ["5.10", "6.1", "6.12", "6.18", "7.x"];
/// How long a series' newest kernel counts as the newest.
const FRESH: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// As it was asked for.
    pub(crate) asked: String,
    pub(crate) image: PathBuf,
}

/// The kernels that `--kernel` names.
pub(crate) fn kernels(cache: &Path, asked: &str) -> Result<Vec<Kernel>> {
    if asked.contains('/') {
        let image = PathBuf::from(asked);
        ensure!(image.is_file(), "{asked} is no kernel image");
        return Ok(vec![Kernel { asked: asked.to_owned(), image }]);
    }
    let series: Vec<&str> = if asked == "all" { ALL.to_vec() } else { vec![asked] };
    for name in &series {
        let known = name.starts_with(|c: char| c.is_ascii_digit()) && name.contains('.');
        ensure!(known, "{name} is no kernel series (such as 6.12 or 7.x), no path and not `all`");
    }
    let mut apt = None;
    series.into_iter().map(|series| kernel(cache, series, &mut apt)).collect()
}

fn kernel(cache: &Path, series: &str, apt: &mut Option<Apt>) -> Result<Kernel> {
    let folder = cache.join("kernels");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let note = folder.join(format!("newest-{series}"));
    let kept = kept(&folder, &note);
    let image = match kept {
        Some((image, true)) => image,
        kept => match newest(cache, series, apt, &folder, &note) {
            Ok(image) => image,
            Err(error) => {
                let (image, _) = kept.ok_or(error)?;
                eprintln!("vm: cannot look for a newer kernel; using {}", image.display());
                image
            }
        },
    };
    Ok(Kernel { asked: series.to_owned(), image })
}

/// The image that was the newest when we last looked, and whether that was lately.
fn kept(folder: &Path, note: &Path) -> Option<(PathBuf, bool)> {
    let release = fs::read_to_string(note).ok()?;
    let image = folder.join(format!("vmlinuz-{release}"));
    let age = fs::metadata(note).ok()?.modified().ok()?.elapsed().unwrap_or_default();
    image.is_file().then_some((image, age < FRESH))
}

fn newest(cache: &Path, series: &str, apt: &mut Option<Apt>, folder: &Path, note: &Path) -> Result<PathBuf> {
    let apt = match apt {
        Some(apt) => apt,
        None => apt.insert(Apt::update(&cache.join("apt"))?),
    };
    let package = apt.newest(series)?;
    let image = folder.join(format!("vmlinuz-{}", package.release()));
    if !image.is_file() {
        let half = folder.join("vmlinuz-half");
        apt.fetch(&package, &half)?;
        fs::rename(&half, &image)?;
    }
    fs::write(note, package.release())?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test says so by failing")]

    use super::*;

    #[test]
    fn a_path_is_taken_as_it_is_and_nonsense_is_named() {
        let cache = tempfile::tempdir().unwrap();
        let image = cache.path().join("vmlinuz");
        fs::write(&image, "").unwrap();
        let asked = image.to_str().unwrap();
        assert_eq!(kernels(cache.path(), asked).unwrap()[0].image, image);
        for (asked, said) in [("/no/such", "no kernel image"), ("newest", "no kernel series")] {
            let error = kernels(cache.path(), asked).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_kernel_that_was_the_newest_today_needs_no_network() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("kernels");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("newest-6.1"), "6.1.0-1-cloud-amd64").unwrap();
        fs::write(folder.join("vmlinuz-6.1.0-1-cloud-amd64"), "").unwrap();
        let found = kernels(cache.path(), "6.1").unwrap();
        assert!(found[0].image.ends_with("vmlinuz-6.1.0-1-cloud-amd64"));
        assert!(!cache.path().join("apt").exists());
    }
}
