//! Virtual topologies: trees, k-nomial trees, meshes and tori. A task that does not exist is −1.

/// The parent of a task in an `arity`-ary tree.
pub fn tree_parent(task: i64, arity: i64) -> i64 {
    if task <= 0 {
        -1
    } else {
        (task - 1) / arity
    }
}

/// The child of a task in an `arity`-ary tree, counted from 0.
pub fn tree_child(task: i64, child: i64, arity: i64) -> Option<i64> {
    if task < 0 || !(0..arity).contains(&child) {
        return Some(-1);
    }
    task.checked_mul(arity)?.checked_add(child + 1)
}

/// The parent of a task in a k-nomial tree of `tasks` tasks: the same number with its highest digit in base `k` taken away.
pub fn knomial_parent(task: i64, k: i64, tasks: i64) -> i64 {
    if task <= 0 || task >= tasks {
        return -1;
    }
    let mut place = 1;
    while task / place >= k {
        place *= k;
    }
    task % place
}

/// The children of a task in a k-nomial tree of `tasks` tasks, in order: each puts a digit before the task's own.
pub fn knomial_children(task: i64, k: i64, tasks: i64) -> impl Iterator<Item = i64> {
    let mut first: i64 = 1;
    while first <= task {
        first = first.saturating_mul(k);
    }
    let places = std::iter::successors(Some(first), move |place| place.checked_mul(k));
    let there = (0..tasks).contains(&task);
    places
        .take_while(move |place| there && *place < tasks)
        .flat_map(move |place| (1..k).map(move |digit| task + digit * place))
        .take_while(move |child| *child < tasks)
}

/// Where a task lies in a mesh whose first axis runs fastest; none when it does not exist there.
pub fn mesh_place(task: i64, extents: &[i64]) -> Option<Vec<i64>> {
    let mut rest = task;
    let place = extents
        .iter()
        .map(|extent| {
            let here = rest % extent;
            rest /= extent;
            here
        })
        .collect();
    (task >= 0 && rest == 0).then_some(place)
}

/// The task so many steps away on each axis of a mesh; axes that are rings have no end.
pub fn mesh_neighbor(task: i64, mesh: &[(i64, bool)], offsets: &[i64]) -> i64 {
    let extents: Vec<i64> = mesh.iter().map(|(extent, _)| *extent).collect();
    let Some(place) = mesh_place(task, &extents) else { return -1 };
    let mut number = 0;
    for (((extent, ring), here), offset) in mesh.iter().zip(place).zip(offsets).rev() {
        let Some(there) = here.checked_add(*offset) else { return -1 };
        let there = if *ring { there.rem_euclid(*extent) } else { there };
        if !(0..*extent).contains(&there) {
            return -1;
        }
        number = number * extent + there;
    }
    number
}

/// How many steps lie between two tasks of a mesh; −1 when one of them does not exist.
pub fn mesh_distance(one: i64, other: i64, mesh: &[(i64, bool)]) -> i64 {
    let extents: Vec<i64> = mesh.iter().map(|(extent, _)| *extent).collect();
    let (Some(one), Some(other)) = (mesh_place(one, &extents), mesh_place(other, &extents)) else {
        return -1;
    };
    mesh.iter()
        .zip(one.iter().zip(&other))
        .map(|((extent, ring), (a, b))| {
            let straight = (a - b).abs();
            if *ring {
                straight.min(extent - straight)
            } else {
                straight
            }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_parents_and_children() {
        //        0
        //    1       2
        //  3   4   5   6
        assert_eq!([0, 1, 2, 3, 6].map(|task| tree_parent(task, 2)), [-1, 0, 0, 1, 2]);
        assert_eq!(
            [(0, 0), (1, 1), (2, 2)].map(|(task, child)| tree_child(task, child, 2)),
            [Some(1), Some(4), Some(-1)]
        );
        // Binomial: a child has one more binary digit in front.
        assert_eq!([0, 1, 2, 3, 5, 7].map(|task| knomial_parent(task, 2, 8)), [-1, 0, 0, 1, 1, 3]);
        assert_eq!(knomial_children(0, 2, 8).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(knomial_children(1, 2, 8).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(knomial_children(2, 2, 7).collect::<Vec<_>>(), [6]);
        assert_eq!(knomial_children(0, 3, 9).collect::<Vec<_>>(), [1, 2, 3, 6]);
        assert_eq!(knomial_children(8, 2, 8).count(), 0);
        for (k, tasks) in [(2, 13), (3, 20), (5, 100)] {
            for task in 0..tasks {
                assert!(knomial_children(task, k, tasks).all(|child| knomial_parent(child, k, tasks) == task));
            }
        }
    }

    #[test]
    fn meshes_end_and_rings_do_not() {
        // 4 × 3, the first axis fastest: task 5 is at (1, 1).
        let mesh = [(4, false), (3, false)];
        assert_eq!(mesh_place(5, &[4, 3]), Some(vec![1, 1]));
        assert_eq!(mesh_place(12, &[4, 3]), None);
        assert_eq!([[1, 0], [-1, 1], [0, -1]].map(|offsets| mesh_neighbor(5, &mesh, &offsets)), [6, 8, 1]);
        assert_eq!(mesh_neighbor(3, &mesh, &[1, 0]), -1);
        assert_eq!(mesh_neighbor(3, &[(4, true), (3, false)], &[1, 0]), 0);
        assert_eq!(mesh_neighbor(0, &[(4, true), (3, true)], &[-1, -1]), 11);
        assert_eq!((mesh_distance(0, 11, &mesh), mesh_distance(0, 11, &[(4, true), (3, true)])), (5, 2));
    }
}
