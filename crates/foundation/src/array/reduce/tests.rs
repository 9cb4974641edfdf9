use super::*;
use crate::array::{DType, Extents, Layout, Shape};
use proptest::prelude::*;

fn shape(kind: u8, size: u32, extents: &[u64]) -> Shape {
    Shape::new(DType::new(kind, size).unwrap(), Extents::new(extents).unwrap()).unwrap()
}

fn packed<T>(kind: u8, values: &[T]) -> Summary {
    let shape = shape(kind, std::mem::size_of::<T>() as u32, &[values.len() as u64]);
    // SAFETY: the values, packed.
    unsafe {
        Summary::of(&shape, values.as_ptr().cast(), &Layout::right(shape.extents().len()).strides(&shape))
            .unwrap()
    }
}

macro_rules! exact_for {
    ($($name:ident: $number:ty, $kind:literal;)*) => {$(
        proptest! {
            #[test]
            fn $name(values in prop::collection::vec(any::<$number>(), 0..3000), cut in 0usize..3000) {
                let wide = || values.iter().map(|v| *v as i128);
                let all = packed($kind, &values);
                prop_assert_eq!(all.count, values.len() as u64);
                prop_assert_eq!(all.sum, Sum::Whole(wide().sum()));
                prop_assert_eq!(all.min, wide().min().map(Number::Whole));
                prop_assert_eq!(all.max, wide().max().map(Number::Whole));
                let (left, right) = values.split_at(cut.min(values.len()));
                prop_assert_eq!(packed($kind, left).merge(&packed($kind, right)), all);
            }
        }
    )*};
}
exact_for! {
    whole_numbers_of_i8_are_exact: i8, b'i';
    whole_numbers_of_i32_are_exact: i32, b'i';
    whole_numbers_of_i64_are_exact: i64, b'i';
    whole_numbers_of_u16_are_exact: u16, b'u';
    whole_numbers_of_u32_are_exact: u32, b'u';
    whole_numbers_of_u64_are_exact: u64, b'u';
}

proptest! {
    #[test]
    fn strided_floats_agree_with_a_plain_loop(
        rows in 0usize..40, columns in 0usize..90, gap in 0usize..3, backwards: bool, shift in 0usize..8,
        scale in -1e6f64..1e6, bins in 1usize..40,
    ) {
        let width = columns + gap;
        let values: Vec<f64> = (0..rows * width + 1).map(|i| ((i * 7919 % 1009) as f64 - 500.0) * scale).collect();
        let mut bytes = vec![0u8; shift];
        bytes.extend(values.iter().flat_map(|v| v.to_ne_bytes()));
        let shape = shape(b'f', 8, &[columns as u64, rows as u64]);
        let row = 8 * width as i64;
        let (begin, strides) = match backwards && rows > 0 {
            true => (shift + (rows - 1) * 8 * width, [8, -row]),
            false => (shift, [8, row]),
        };
        let inside: Vec<f64> =
            (0..rows).flat_map(|r| values[r * width..r * width + columns].iter().copied()).collect();
        let mut histogram = Histogram::new(-400.0, 300.0, bins).unwrap();
        // SAFETY: all rows and columns lie in `bytes`.
        let all = unsafe {
            histogram.add(&shape, bytes.as_ptr().add(begin), &strides).unwrap();
            Summary::of(&shape, bytes.as_ptr().add(begin), &strides).unwrap()
        };
        prop_assert_eq!(all.count, inside.len() as u64);
        prop_assert_eq!(all.min.map(Number::to_f64), inside.iter().copied().reduce(f64::min));
        prop_assert_eq!(all.max.map(Number::to_f64), inside.iter().copied().reduce(f64::max));
        let size: f64 = inside.iter().map(|v| v.abs()).sum();
        prop_assert!((all.sum.to_f64() - inside.iter().sum::<f64>()).abs() <= 1e-12 * size);
        let edges: Vec<f64> =
            (0..=bins).map(|i| if i == bins { 300.0 } else { -400.0 + i as f64 * (700.0 / bins as f64) }).collect();
        let expected: Vec<u64> = (0..bins).map(|b| {
            let holds = |v: &&f64| edges[b] <= **v && (**v < edges[b + 1] || (b + 1 == bins && **v == 300.0));
            inside.iter().filter(holds).count() as u64
        }).collect();
        prop_assert_eq!(histogram.counts, expected);
    }

    #[test]
    fn a_nan_anywhere_shows(mut values in prop::collection::vec(-1e3f32..1e3, 1..3000), at in any::<prop::sample::Index>()) {
        let place = at.index(values.len());
        values[place] = f32::NAN;
        let all = packed(b'f', &values);
        prop_assert!(all.sum.to_f64().is_nan() && all.mean().unwrap().is_nan());
        prop_assert!(all.min.unwrap().to_f64().is_nan() && all.max.unwrap().to_f64().is_nan());
        let merged = packed(b'f', &[1.0f32]).merge(&all);
        prop_assert!(merged.min.unwrap().to_f64().is_nan() && merged.max.unwrap().to_f64().is_nan());
    }
}

#[test]
fn the_mean_of_a_billion_equal_values_is_that_value() {
    let value = 0.1f64;
    let shape = shape(b'f', 8, &[1_000_000_000]);
    // SAFETY: one value, read a billion times with a stride of zero.
    let all = unsafe { Summary::of(&shape, (&raw const value).cast(), &[0]).unwrap() };
    assert_eq!(all.count, 1_000_000_000);
    assert!((all.mean().unwrap() / value - 1.0).abs() < 1e-12);
}

#[test]
fn infinities_stay_what_they_are() {
    let all = packed(b'f', &[1.0, f64::INFINITY, 2.0]);
    assert_eq!(all.sum.to_f64(), f64::INFINITY);
    assert!(packed(b'f', &[f64::INFINITY, f64::NEG_INFINITY]).sum.to_f64().is_nan());
    assert_eq!(packed::<f64>(b'f', &[]).mean(), None);
}

#[test]
fn what_cannot_be_reduced_is_refused() {
    // SAFETY: refused before anything is read.
    let error = unsafe { Summary::of(&shape(b'c', 16, &[2]), std::ptr::null(), &[16]) }.unwrap_err();
    assert_eq!(
        error.message,
        "reduce: elements of complex128; accepted are bool, int8 to int64, uint8 to uint64, float32 and float64"
    );
    assert!(Histogram::new(1.0, 1.0, 4).is_err() && Histogram::new(0.0, f64::NAN, 4).is_err());
    let mut histogram = Histogram::new(0.0, 1.0, 4).unwrap();
    assert!(histogram.merge(&Histogram::new(0.0, 1.0, 5).unwrap()).is_err());
}
