//! What is left out in turn inside a training fold, where something is tuned.

use super::Example;

/// Most groups that are left out one by one; more are dealt out to as many hands.
const MOST_FOLDS: usize = 10;
/// Fewest groups: two are left to learn from.
const FEWEST_GROUPS: usize = 3;

/// Places of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InnerFold {
    pub train: Vec<usize>,
    pub test: Vec<usize>,
}

/// A way to leave out: the group of a tested row, and whether a row may be learnt from when a group is tested.
type Scheme = (fn(&Example) -> usize, fn(&Example, usize) -> bool);

const SCHEMES: [Scheme; 5] = [
    // Models: in neither role.
    (|row| row.models[0], |row, model| !row.models.contains(&model)),
    (|row| row.models[0], |row, model| row.models[0] != model),
    (|row| row.models[1], |row, model| row.models[1] != model),
    (|row| row.workloads[0], |row, workload| row.workloads[0] != workload),
    (|row| row.configuration, |row, configuration| row.configuration != configuration),
];

/// The folds of the first way that leaves at least two groups and a row to learn from: by model (in neither role), by target
/// model, by partner model, by target workload, by configuration. Where none does, all rows are both learnt from and tested.
pub(super) fn left_out_groups(training: &[&Example]) -> Vec<InnerFold> {
    let all: Vec<usize> = (0..training.len()).collect();
    SCHEMES
        .iter()
        .find_map(|scheme| folds(training, *scheme))
        .unwrap_or_else(|| vec![InnerFold { train: all.clone(), test: all }])
}

fn folds(training: &[&Example], (group, may_learn): Scheme) -> Option<Vec<InnerFold>> {
    let mut groups: Vec<usize> = vec![];
    for row in training {
        if !groups.contains(&group(row)) {
            groups.push(group(row));
        }
    }
    if groups.len() < FEWEST_GROUPS {
        return None;
    }
    let hands = groups.len().min(MOST_FOLDS);
    let fold = |hand: usize| {
        let held: Vec<usize> = groups.iter().copied().skip(hand).step_by(hands).collect();
        let rows = || training.iter().enumerate();
        let test = rows().filter(|(_, row)| held.contains(&group(row))).map(|(i, _)| i).collect();
        let train: Vec<usize> =
            rows().filter(|(_, row)| held.iter().all(|group| may_learn(row, *group))).map(|(i, _)| i).collect();
        (!train.is_empty()).then_some(InnerFold { train, test })
    };
    (0..hands).map(fold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(models: &[[usize; 2]]) -> Vec<Example> {
        let example = |(i, models): (usize, &[usize; 2])| Example {
            sides: None,
            slowdown: 1.0,
            models: *models,
            workloads: models.map(|model| 10 + model),
            configuration: i,
        };
        models.iter().enumerate().map(example).collect()
    }

    fn of(models: &[[usize; 2]]) -> Vec<InnerFold> {
        left_out_groups(&rows(models).iter().collect::<Vec<_>>())
    }

    #[test]
    fn models_are_left_out_in_both_roles_where_enough_are_there() {
        let folds = of(&[[0, 1], [1, 2], [2, 3], [3, 0]]);
        assert_eq!(folds[0], InnerFold { train: vec![1, 2], test: vec![0] });
        assert_eq!(folds.len(), 4);
    }

    #[test]
    fn with_two_targets_partners_are_left_out_and_with_one_model_configurations() {
        let folds = of(&[[0, 1], [0, 2], [0, 3], [4, 1]]);
        assert_eq!(folds[0], InnerFold { train: vec![1, 2], test: vec![0, 3] });
        let folds = of(&[[0, 0], [0, 0], [0, 0]]);
        assert_eq!(folds[2], InnerFold { train: vec![0, 1], test: vec![2] });
    }

    #[test]
    fn with_hardly_any_rows_the_training_error_stands() {
        assert_eq!(of(&[[0, 1]]), [InnerFold { train: vec![0], test: vec![0] }]);
    }

    #[test]
    fn many_groups_are_dealt_out() {
        let many: Vec<[usize; 2]> = (0..25).map(|_| [0, 0]).collect();
        let folds = of(&many);
        assert_eq!(folds.len(), MOST_FOLDS);
        assert_eq!(folds.iter().map(|fold| fold.test.len()).sum::<usize>(), 25);
    }
}
