use super::instructions::Instructions;
use super::*;
use crate::array::Strides;
use crate::base::Bytes;
use proptest::prelude::*;

/// Every way that this processor has.
fn ways() -> Vec<Instructions> {
    #[cfg(target_arch = "x86_64")]
    let all = vec![Instructions::Plain, Instructions::Avx2, Instructions::Avx512];
    #[cfg(not(target_arch = "x86_64"))]
    let all = vec![Instructions::Plain];
    all.into_iter().filter(|way| *way <= Instructions::here()).collect()
}

/// One side of a copy: strides in bytes, where its first element lies, and how many bytes it spans.
#[derive(Clone, Debug)]
struct Side {
    strides: Vec<i64>,
    begin: usize,
    span: usize,
}

/// Lays `extents` out in the order of `keys`, with gaps behind axes and some axes running backwards.
fn side(element: u32, extents: &[u64], keys: &[(u8, u8, bool)], skip: usize) -> Side {
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by_key(|i| keys[*i].0);
    let (mut strides, mut step, mut begin) = (vec![0; extents.len()], i64::from(element), skip);
    for i in order {
        let (_, gap, backwards) = keys[i];
        // one gap in three: packed axes are what the fast ways are for
        step += if gap < 170 { 0 } else { i64::from(gap - 170) };
        strides[i] = if backwards { -step } else { step };
        let reach = step * (extents[i].max(1) as i64 - 1);
        begin += if backwards { reach as usize } else { 0 };
        step += reach;
    }
    Side { strides, begin, span: skip + step as usize + 64 }
}

fn reference(
    element: usize,
    extents: &[u64],
    from: (&Strides, usize, &[u8]),
    to: (&Strides, usize, &mut [u8]),
) {
    let count: u64 = extents.iter().product();
    for n in 0..count {
        let (mut rest, mut read, mut written) = (n, from.1 as i64, to.1 as i64);
        for i in (0..extents.len()).rev() {
            let at = (rest % extents[i]) as i64;
            rest /= extents[i];
            read += at * from.0[i];
            written += at * to.0[i];
        }
        let (read, written) = (read as usize, written as usize);
        to.2[written..written + element].copy_from_slice(&from.2[read..read + element]);
    }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Extents of up to six axes whose product stays small enough to be compared element by element.
fn extents() -> impl Strategy<Value = Vec<u64>> {
    let long = prop_oneof![2 => Just(1u64), 1 => Just(0), 12 => 2u64..10, 8 => 10u64..80, 3 => 80u64..700];
    prop::collection::vec(long, 0..=6).prop_map(|mut all| {
        let mut size = 1;
        for extent in &mut all {
            *extent = (*extent).min((60_000 / size).max(1));
            size *= (*extent).max(1);
        }
        all
    })
}

fn sizes() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![1u32, 2, 4, 8, 16, 3, 7, 12, 24, 32, 40, 64, 100])
}

fn keys() -> impl Strategy<Value = Vec<(u8, u8, bool)>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), prop::bool::weighted(0.2)), 6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_way_copies_what_the_reference_copies_and_nothing_else(
        element in sizes(), extents in extents(), reading in keys(), writing in keys(),
        skips in (0usize..70, 0usize..70), parts in 1usize..7,
    ) {
        let (from, to) = (side(element, &extents, &reading, skips.0), side(element, &extents, &writing, skips.1));
        let source = noise(from.span);
        let blank = noise(to.span).into_iter().map(|byte| !byte).collect::<Vec<_>>();
        let mut expected = blank.clone();
        reference(
            element as usize, &extents, (&from.strides, from.begin, &source), (&to.strides, to.begin, &mut expected)
        );
        let plan = Plan::new(element, &extents, &from.strides, &to.strides).unwrap();
        prop_assert_eq!(plan.bytes(), Bytes(extents.iter().product::<u64>() * u64::from(element)));
        for way in ways() {
            for streamed in [false, true] {
                let plan = plan.forced(way, streamed);
                let mut target = blank.clone();
                // SAFETY: both vectors span every position of their side.
                unsafe { plan.run(source.as_ptr().add(from.begin), target.as_mut_ptr().add(to.begin)) };
                prop_assert!(target == expected, "{:?}, streamed {}: {:?}", way, streamed, plan);
                let mut target = blank.clone();
                let split = plan.split(parts);
                prop_assert!(split.len() <= parts);
                prop_assert_eq!(split.iter().map(|part| part.plan.bytes().0).sum::<u64>(), plan.bytes().0);
                for part in split {
                    // SAFETY: the same.
                    unsafe { part.run(source.as_ptr().add(from.begin), target.as_mut_ptr().add(to.begin)) };
                }
                prop_assert!(target == expected, "{} parts, {:?}, streamed {}", parts, way, streamed);
            }
        }
    }

    #[test]
    fn there_and_back_is_the_identity(element in sizes(), extents in extents(), keys in keys()) {
        let packed = side(element, &extents, &[(0, 0, false); 6].map(|k| k), 0);
        let strided = side(element, &extents, &keys, 0);
        let there = Plan::new(element, &extents, &packed.strides, &strided.strides).unwrap();
        let back = Plan::new(element, &extents, &strided.strides, &packed.strides).unwrap();
        let (source, mut between, mut target) = (noise(packed.span), vec![0; strided.span], vec![0; packed.span]);
        // SAFETY: the vectors span every position of their side.
        unsafe {
            there.run(source.as_ptr(), between.as_mut_ptr().add(strided.begin));
            back.run(between.as_ptr().add(strided.begin), target.as_mut_ptr());
        }
        let len = there.bytes().0 as usize;
        prop_assert_eq!(&target[..len], &source[..len]);
    }

    #[test]
    fn parts_are_of_about_equal_size(extents in prop::collection::vec(64u64..300, 2..4), parts in 1usize..17) {
        let packed = side(1, &extents, &[(0, 0, false), (1, 0, false), (2, 0, false)], 0);
        let turned = side(1, &extents, &[(2, 0, false), (1, 0, false), (0, 0, false)], 0);
        let plan = Plan::new(1, &extents, &packed.strides, &turned.strides).unwrap();
        let split = plan.split(parts);
        let largest = split.iter().map(|part| part.plan.bytes().0).max().unwrap();
        prop_assert!(largest <= 3 * plan.bytes().0.div_ceil(split.len() as u64));
    }

    #[test]
    fn records_keep_their_fields_in_either_arrangement(
        fields in prop::collection::vec((prop::sample::select(vec![1u32, 2, 4, 8, 3]), 0u64..5), 1..6),
        count in prop_oneof![Just(0), 0u64..2000], padding in 0u64..9,
    ) {
        let mut end = 0;
        let fields: Vec<FieldSpan> = fields.iter().map(|(size, gap)| {
            let offset = end + if *gap < 3 { 0 } else { *gap };
            end = offset + u64::from(*size);
            FieldSpan { offset, size: *size }
        }).collect();
        let stride = end + padding;
        let payload: usize = fields.iter().map(|field| field.size as usize).sum();
        let source = noise((stride * count) as usize);
        let mut arrays = vec![0u8; payload * count as usize];
        let structs = Arrangement::Structs(Bytes(stride));
        let there = RecordPlan::new(&fields, count, structs, Arrangement::Arrays).unwrap();
        prop_assert_eq!(there.bytes(), Bytes(payload as u64 * count));
        // SAFETY: `count` records on both sides.
        unsafe { there.run(source.as_ptr(), arrays.as_mut_ptr()) };
        let mut at = 0;
        for field in &fields {
            for n in 0..count {
                let (begin, size) = ((n * stride + field.offset) as usize, field.size as usize);
                prop_assert_eq!(&arrays[at..at + size], &source[begin..begin + size]);
                at += size;
            }
        }
        let back = RecordPlan::new(&fields, count, Arrangement::Arrays, structs).unwrap();
        let mut target = vec![0xa5u8; source.len()];
        // SAFETY: the same.
        unsafe { back.run(arrays.as_ptr(), target.as_mut_ptr()) };
        for (i, byte) in target.iter().enumerate() {
            let inside = i as u64 % stride;
            let of_field = fields.iter().any(|f| f.offset <= inside && inside < f.offset + u64::from(f.size));
            prop_assert_eq!(*byte, if of_field { source[i] } else { 0xa5 });
        }
    }
}

#[test]
fn long_streamed_planes_are_copied_in_every_phase_of_the_lines() {
    for (element, extents) in
        [(1u32, [70u64, 1100, 1]), (2, [65, 600, 3]), (4, [3, 700, 131]), (8, [67, 3, 521])]
    {
        for skip in [0usize, 1, 8, 24, 63] {
            let from = side(element, &extents, &[(2, 0, false), (1, 0, false), (0, 0, false)], 0);
            let to = side(element, &extents, &[(0, 0, false), (1, 0, false), (2, 0, false)], skip);
            let source = noise(from.span);
            let mut expected = vec![0xee; to.span];
            reference(
                element as usize,
                &extents,
                (&from.strides, 0, &source),
                (&to.strides, to.begin, &mut expected),
            );
            let plan = Plan::new(element, &extents, &from.strides, &to.strides).unwrap();
            for way in ways() {
                let mut target = vec![0xee; to.span];
                // SAFETY: both vectors span every position of their side.
                unsafe { plan.forced(way, true).run(source.as_ptr(), target.as_mut_ptr().add(to.begin)) };
                assert!(target == expected, "{way:?} {element} {extents:?} skip {skip}");
            }
        }
    }
}

#[test]
fn what_cannot_be_copied_is_refused_with_its_numbers() {
    let message = |plan: crate::Result<Plan>| plan.unwrap_err().message;
    assert_eq!(
        message(Plan::new(8, &[2, 3], &[8], &[8, 16])),
        "relayout: 1 strides of the source and 2 of the target for extents (2, 3); expected one for each axis"
    );
    assert!(message(Plan::new(8, &[4], &[8], &[0])).contains("axis 0 with 4 elements and strides 8 and 0"));
    assert!(message(Plan::new(0, &[4], &[8], &[8])).contains("elements of 0 bytes"));
    assert!(message(Plan::new(8, &[1 << 40, 1 << 30], &[8, 8], &[8, 8])).contains("overflow"));
    assert!(message(Plan::new(8, &[2, 2], &[8, i64::MIN], &[8, 16])).contains("within 2^63 bytes"));
    assert!(Plan::new(8, &[1; 9], &[8; 9], &[8; 9]).is_err());
    assert_eq!(Plan::new(8, &[0, 1 << 62], &[8, 8], &[0, 8]).unwrap().bytes(), Bytes(0));
    let overlap = [FieldSpan { offset: 0, size: 4 }, FieldSpan { offset: 2, size: 2 }];
    assert!(RecordPlan::new(&overlap, 3, Arrangement::Structs(Bytes(8)), Arrangement::Arrays).is_err());
    let beyond = [FieldSpan { offset: 6, size: 4 }];
    let refused =
        RecordPlan::new(&beyond, 3, Arrangement::Structs(Bytes(8)), Arrangement::Arrays).unwrap_err();
    assert_eq!(refused.message, "records: fields reach to byte 10 of structs of 8 bytes");
}
