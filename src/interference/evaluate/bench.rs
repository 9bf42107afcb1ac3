//! One fold: everything is fitted to its training directions, and asked about those that it tests.

use std::{collections::HashMap, sync::Arc};

use super::{
    few_shot::{Chooser, DRAWS, Halves, steps},
    options::Options,
    ours::{Answer, Lesson, Ours, candidate},
    samples::{Direction, Samples, Tenancy, grouped},
    set::{EvaluationSet, Profiles},
    splits::{Fold, Withheld},
};
use crate::{
    domain::ConfidenceClass,
    interference::{
        CoRun, Tenant,
        baselines::{BaselineSlowdowns, Baselines, Example, Side, Utilisations},
    },
};

/// Methods that are compared: ours and the baselines.
pub(super) const METHODS: usize = 5;

/// A tested direction with what each method said.
#[derive(Debug, Clone)]
pub(super) struct Tested {
    /// Co-run latency as measured, microseconds.
    pub measured_us: f64,
    /// As predicted, microseconds: ours, then no interference, training median, binary rule, model-level linear.
    pub predicted_us: [Option<f64>; METHODS],
    /// Our upper bound, microseconds, and its level.
    pub upper_us: f64,
    pub level: f64,
    /// What we said of our own answer.
    pub class: ConfidenceClass,
    /// |curve - measured| / measured of the target's solo latency, where that came from the curve.
    pub solo_error: Option<f64>,
}

/// The tested directions at one number of samples, those of all draws.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub count: usize,
    pub tested: Vec<Tested>,
}

/// What came of a fold.
#[derive(Debug)]
pub(super) struct Outcome {
    pub held_out: String,
    pub train: usize,
    pub test: usize,
    pub train_groups: usize,
    /// Why it says nothing; then the rest is empty.
    pub skipped: Option<String>,
    /// Ascending by number of samples; the last is the one that was asked for.
    pub steps: Vec<Step>,
    /// Predicted beyond the measured shares.
    pub extrapolated: Vec<Tested>,
    /// Tested directions in which a tenant has no signature left.
    pub without_signature: usize,
    /// Rows of the configurations that were suggested, in that order.
    pub suggested: Vec<String>,
}

/// What all folds share.
pub(super) struct Bench<'a> {
    sets: &'a [EvaluationSet<'a>],
    samples: &'a Samples,
    options: &'a Options,
    profiles: Vec<Profiles>,
    /// One a direction.
    examples: Vec<Example>,
    /// Of the first set, on their own solo latencies.
    tenants: HashMap<(Tenancy, u64), Arc<Tenant>>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(sets: &'a [EvaluationSet<'a>], samples: &'a Samples, options: &'a Options) -> Self {
        let mut bench = Self {
            sets,
            samples,
            options,
            profiles: sets.iter().map(|set| set.profiles(None)).collect(),
            examples: vec![],
            tenants: HashMap::new(),
        };
        bench.examples = bench.examples();
        bench.tenants = bench.tenants();
        bench
    }

    /// True when the baselines that read counters can be fitted.
    pub(super) fn has_counters(&self) -> bool {
        self.examples.iter().all(|example| example.sides.is_some())
    }

    fn examples(&self) -> Vec<Example> {
        let of_sets: Vec<_> = self.sets.iter().map(|set| Utilisations::new(set.device, set.signatures_without(None))).collect();
        let example = |d: &Direction| Example {
            sides: self.sides(&of_sets[d.set], d),
            slowdown: d.slowdown(),
            models: d.models(),
            workloads: d.workloads(),
            configuration: d.configuration,
        };
        self.samples.directions.iter().map(example).collect()
    }

    fn sides(&self, utilisations: &Utilisations, d: &Direction) -> Option<[Side; 2]> {
        let of = |t: Tenancy| utilisations.at(&self.samples.workloads[t.workload], self.samples.shares[t.share]);
        Some([of(d.victim)?, of(d.partner)?])
    }

    fn tenants(&self) -> HashMap<(Tenancy, u64), Arc<Tenant>> {
        let mut tenants = HashMap::new();
        for d in self.samples.directions.iter().filter(|d| d.set == 0) {
            for (tenancy, solo_us) in self.row_tenancies(d) {
                let placed = || self.place(&self.profiles[0], tenancy, Some(solo_us)).map(Arc::new);
                tenants.entry((tenancy, solo_us.to_bits())).or_insert_with(placed);
            }
        }
        tenants.into_iter().filter_map(|(key, tenant)| Some((key, tenant?))).collect()
    }

    /// Victim and partner with their solo latencies in the row, microseconds.
    fn row_tenancies(&self, d: &Direction) -> [(Tenancy, f64); 2] {
        let solo_us = self.sets[d.set].pair_samples[d.row].solo_us;
        [(d.victim, solo_us[d.side]), (d.partner, solo_us[1 - d.side])]
    }

    fn place(&self, profiles: &Profiles, tenancy: Tenancy, solo_us: Option<f64>) -> Option<Tenant> {
        let profile = profiles.get(&self.samples.workloads[tenancy.workload])?;
        Tenant::place(self.sets[0].device, profile, self.samples.shares[tenancy.share], 1.0, solo_us).ok()
    }

    /// Runs `fold`; `halves` where a few samples are given.
    pub(super) fn run(&self, fold: &Fold, halves: Option<&Halves>) -> Outcome {
        let test: Vec<usize> = match halves {
            Some(halves) => {
                let is_tested = |i: &usize| halves.test.contains(&self.samples.directions[*i].configuration);
                fold.test.iter().copied().filter(is_tested).collect()
            }
            None => fold.test.clone(),
        };
        let mut outcome = Outcome {
            held_out: fold.held_out.clone(),
            train: fold.train.len(),
            test: test.len(),
            train_groups: fold.train_groups,
            skipped: None,
            steps: vec![],
            extrapolated: vec![],
            without_signature: 0,
            suggested: vec![],
        };
        if let Err(reason) = self.fill(&mut outcome, fold, &test, halves) {
            outcome.skipped = Some(reason);
        }
        outcome
    }

    fn fill(&self, outcome: &mut Outcome, fold: &Fold, test: &[usize], halves: Option<&Halves>) -> Result<(), String> {
        let extrapolated = fold.withheld.as_ref().map_or(&[][..], |withheld| &withheld.extrapolated);
        if fold.train.is_empty() {
            return Err("nothing is left to learn from".to_owned());
        }
        if test.is_empty() && extrapolated.is_empty() {
            return Err("nothing is left to test".to_owned());
        }
        let ours = self.fitted(fold).map_err(|error| error.to_string())?;
        let known = self.known(fold);
        let methods = Methods { ours: &ours, baselines: self.baselines(&fold.train)? };
        match halves {
            None => {
                let (tested, lost) = self.test(&methods, &known, test);
                outcome.without_signature = lost;
                outcome.steps = vec![Step { count: 0, tested }];
                outcome.extrapolated = self.test(&methods, &known, extrapolated).0;
            }
            Some(halves) => self.few_shot(outcome, fold, &methods, &known, test, halves)?,
        }
        if test.is_empty() {
            return Err("no target has measured shares on both sides".to_owned());
        }
        Ok(())
    }

    fn fitted(&self, fold: &Fold) -> Result<Ours, super::ours::Unfitted> {
        let first = &self.sets[0];
        let lessons: Vec<Lesson<'_>> = (0..self.sets.len())
            .map(|set| self.lesson(set, fold.withheld.as_ref(), &fold.train))
            .filter(|lesson| !lesson.samples.is_empty())
            .collect();
        Ours::fit(first.device, first.sharing_mode, &lessons, self.options.seed)
    }

    fn lesson<'s>(&'s self, set: usize, withheld: Option<&'s Withheld>, chosen: &[usize]) -> Lesson<'s> {
        Lesson {
            device: self.sets[set].device,
            profiles: withheld.map_or(&self.profiles[set], |withheld| &withheld.profiles),
            samples: self.samples.rows(set, self.sets[set].pair_samples, chosen),
        }
    }

    fn baselines(&self, train: &[usize]) -> Result<Baselines, String> {
        let has_counters = self.has_counters();
        let bare = |i: &usize| Example { sides: None, ..self.examples[*i].clone() };
        let without: Vec<Example> = if has_counters { vec![] } else { train.iter().map(bare).collect() };
        let training: Vec<&Example> =
            if has_counters { train.iter().map(|i| &self.examples[*i]).collect() } else { without.iter().collect() };
        Baselines::fit(&training).ok_or_else(|| "nothing is left to learn from".to_owned())
    }

    /// What is known of the tenants in `fold`.
    fn known<'f>(&'f self, fold: &'f Fold) -> Known<'f> {
        match &fold.withheld {
            None => Known::All,
            Some(withheld) => {
                let set = &self.sets[0];
                let utilisations = Utilisations::new(set.device, set.signatures_without(Some(withheld.share)));
                Known::Without { withheld, utilisations }
            }
        }
    }

    /// Tests `directions`; the second figure counts those in which a tenant cannot be placed.
    fn test(&self, methods: &Methods<'_>, known: &Known<'_>, directions: &[usize]) -> (Vec<Tested>, usize) {
        let mut tested = Vec::with_capacity(directions.len());
        // Both sides of a row are answered at once.
        let mut last: Option<(usize, usize, [Answer; 2])> = None;
        for i in directions {
            let d = &self.samples.directions[*i];
            let Some([victim, partner]) = self.placed(known, d) else { continue };
            let answer = match last {
                Some((row, side, answers)) if row == d.row && side != d.side => answers[1],
                _ => {
                    let answers = methods.ours.answers([&victim, &partner]);
                    last = Some((d.row, d.side, answers));
                    answers[0]
                }
            };
            let sides = match known {
                Known::All => self.examples[*i].sides,
                Known::Without { utilisations, .. } => self.sides(utilisations, d),
            };
            let baselines = methods.baselines.predict(sides.as_ref());
            let solo_us = victim.solo_latency_us;
            tested.push(Tested {
                measured_us: d.corun_us,
                predicted_us: latencies(answer.slowdown, &baselines, solo_us),
                upper_us: answer.upper * solo_us,
                level: answer.level,
                class: answer.class,
                solo_error: matches!(known, Known::Without { .. }).then(|| (solo_us / d.solo_us - 1.0).abs()),
            });
        }
        let lost = directions.len() - tested.len();
        (tested, lost)
    }

    /// The two tenants of `d`: on the row's solo latencies, or, where a share is withheld, wholly from what is known elsewhere.
    fn placed(&self, known: &Known<'_>, d: &Direction) -> Option<[Arc<Tenant>; 2]> {
        let [victim, partner] = self.row_tenancies(d).map(|(tenancy, solo_us)| match known {
            Known::All => self.tenants.get(&(tenancy, solo_us.to_bits())).cloned(),
            Known::Without { withheld, .. } => self.place(&withheld.profiles, tenancy, None).map(Arc::new),
        });
        Some([victim?, partner?])
    }

    fn few_shot(
        &self,
        outcome: &mut Outcome,
        fold: &Fold,
        base: &Methods<'_>,
        known: &Known<'_>,
        test: &[usize],
        halves: &Halves,
    ) -> Result<(), String> {
        let Some(wanted) = self.options.few_shot else { return Ok(()) };
        let draws: Vec<Vec<usize>> = match wanted.chooser {
            Chooser::Random => (0..DRAWS).map(|draw| halves.draw(self.options.seed, draw)).collect(),
            Chooser::Suggest => vec![self.suggested(base.ours, fold, halves, wanted.count)],
        };
        if wanted.chooser == Chooser::Suggest {
            outcome.suggested = draws.iter().flatten().take(wanted.count).filter_map(|c| self.row_of(fold, *c)).collect();
        }
        let counts = if self.options.curve { steps(wanted.count) } else { vec![wanted.count] };
        for count in counts {
            let mut step = Step { count, tested: vec![] };
            // Without samples all draws are alike.
            for draw in draws.iter().take(if count == 0 { 1 } else { DRAWS }) {
                let given = self.directions_of(&draw[..count.min(draw.len())], fold);
                let (tested, lost) = self.adapted(base, known, fold, &given, test)?;
                outcome.without_signature = lost;
                step.tested.extend(tested);
            }
            outcome.steps.push(step);
        }
        Ok(())
    }

    /// Tests after the co-runs in `given` were added to what all methods know.
    fn adapted(
        &self,
        base: &Methods<'_>,
        known: &Known<'_>,
        fold: &Fold,
        given: &[usize],
        test: &[usize],
    ) -> Result<(Vec<Tested>, usize), String> {
        if given.is_empty() {
            return Ok(self.test(base, known, test));
        }
        let better = base.ours.adapted(&self.lesson(0, None, given));
        let more = [fold.train.as_slice(), given].concat();
        let methods = Methods { ours: better.as_ref().unwrap_or(base.ours), baselines: self.baselines(&more)? };
        Ok(self.test(&methods, known, test))
    }

    /// Every timed direction of the configurations that training does not have already.
    fn directions_of(&self, configurations: &[usize], fold: &Fold) -> Vec<usize> {
        let directions = self.samples.directions.iter().enumerate();
        directions
            .filter(|(i, d)| d.set == 0 && configurations.contains(&d.configuration) && fold.train.binary_search(i).is_err())
            .map(|(i, _)| i)
            .collect()
    }

    /// The configurations of the pool that `suggest` would measure first, for the sake of the directions of the pool that the fold
    /// would test; measured is every side that training does not have already.
    fn suggested(&self, ours: &Ours, fold: &Fold, halves: &Halves, count: usize) -> Vec<usize> {
        let pool = |configuration: &usize| {
            let new = self.directions_of(&[*configuration], fold);
            let asked: Vec<usize> = new.iter().copied().filter(|i| fold.test.contains(i)).collect();
            Some((*configuration, (self.co_run(&new)?, self.co_run(&asked)?)))
        };
        let (configurations, co_runs): (Vec<usize>, Vec<(CoRun, CoRun)>) = halves.pool.iter().filter_map(pool).unzip();
        let (candidates, asked): (Vec<CoRun>, Vec<CoRun>) = co_runs.into_iter().unzip();
        let places = ours.suggested(self.sets[0].device, &self.profiles[0], [&candidates, &asked], count);
        places.into_iter().filter_map(|place| configurations.get(place).copied()).collect()
    }

    /// The co-run that has `directions`, which are of one configuration; those sides are timed.
    fn co_run(&self, directions: &[usize]) -> Option<CoRun> {
        let first = &self.samples.directions[*directions.first()?];
        let tenancies = [first.victim, first.partner];
        let timed = tenancies.map(|tenancy| directions.iter().any(|i| self.samples.directions[*i].victim == tenancy));
        let workloads = tenancies.map(|tenancy| self.samples.workloads[tenancy.workload].clone());
        Some(candidate(workloads, tenancies.map(|tenancy| self.samples.shares[tenancy.share]), timed))
    }

    /// Name of the first row of a configuration among those that `fold` tests.
    fn row_of(&self, fold: &Fold, configuration: usize) -> Option<String> {
        let of_fold = grouped(fold.test.iter().copied(), |i| self.samples.directions[i].configuration);
        let (_, members) = of_fold.into_iter().find(|(other, _)| *other == configuration)?;
        Some(self.sets[0].pair_samples[self.samples.directions[*members.first()?].row].pair_id.clone())
    }
}

/// What was fitted.
struct Methods<'a> {
    ours: &'a Ours,
    baselines: Baselines,
}

/// What is known of the workloads alone.
enum Known<'a> {
    /// Everything, the rows' solo latencies too.
    All,
    /// Nothing at one share.
    Without { withheld: &'a Withheld, utilisations: Utilisations },
}

fn latencies(ours: f64, baselines: &BaselineSlowdowns, solo_us: f64) -> [Option<f64>; METHODS] {
    let slowdowns = [
        Some(ours),
        Some(baselines.no_interference),
        Some(baselines.train_median),
        baselines.binary_rule,
        baselines.model_linear,
    ];
    slowdowns.map(|slowdown| slowdown.map(|slowdown| slowdown * solo_us))
}
