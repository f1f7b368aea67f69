//! What the variables of every launcher are read as.

use super::*;

fn choose(variables: &[(&str, &str)], choice: Choice, threads: Option<u32>) -> Result<Option<Found>> {
    let get = |name: &str| {
        let found = variables.iter().find(|(of, _)| *of == name);
        found.map(|(_, value)| OsString::from(value))
    };
    super::read(&get, choice, threads)
}

fn read(variables: &[(&str, &str)], threads: Option<u32>) -> Result<Option<Launched>> {
    Ok(match choose(variables, Choice::Auto, threads)? {
        Some(Found::Place(launched)) => Some(launched),
        Some(other) => panic!("{other:?} is no place"),
        None => None,
    })
}

fn job(launched: Launched) -> String {
    match launched.meeting {
        Meeting::Named(job) => job,
        Meeting::Known(_) => panic!("variables hold no id"),
    }
}

const TORCH: [(&str, &str); 6] = [
    ("RANK", "3"),
    ("WORLD_SIZE", "4"),
    ("LOCAL_RANK", "3"),
    ("LOCAL_WORLD_SIZE", "4"),
    ("MASTER_ADDR", "127.0.0.1"),
    ("MASTER_PORT", "29500"),
];
const OURS: [(&str, &str); 4] = [
    ("OXSHMEM_RANK", "1"),
    ("OXSHMEM_WORLD_SIZE", "2"),
    ("OXSHMEM_LOCAL_RANK", "1"),
    ("OXSHMEM_JOB", "00ff"),
];

#[test]
fn torchrun_and_the_own_launcher_are_understood_and_none_is_a_lone_pe() {
    let launched = read(&TORCH, None).unwrap().unwrap();
    assert_eq!((launched.rank, launched.size, launched.local_rank), (3, 4, 3));
    let with_id: Vec<_> = TORCH.into_iter().chain([("TORCHELASTIC_RUN_ID", "a")]).collect();
    assert_ne!(job(read(&with_id, None).unwrap().unwrap()), job(launched));
    let launched = read(&OURS, Some(1)).unwrap().unwrap();
    assert_eq!((launched.rank, launched.size, launched.local_rank), (1, 2, 1));
    assert!(read(&[], Some(4)).unwrap().is_none());
    assert!(read(&[("RANK", ""), ("WORLD_SIZE", "")], None).unwrap().is_none());
}

#[test]
fn what_contradicts_is_named_with_both_values() {
    let change = |name: &str, value: &'static str| -> Vec<(&str, &str)> {
        TORCH.iter().map(|&(of, was)| (of, if of == name { value } else { was })).collect()
    };
    let both: Vec<_> = TORCH.into_iter().chain(OURS).collect();
    for (variables, threads, one, other) in [
        (change("RANK", "4"), None, "RANK=4", "WORLD_SIZE=4"),
        (change("RANK", "2"), None, "LOCAL_RANK=3", "RANK=2"),
        (change("LOCAL_WORLD_SIZE", "3"), None, "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=3"),
        (change("WORLD_SIZE", "8"), None, "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=8"),
        (both, None, "OXSHMEM_RANK=1", "RANK=3"),
        (TORCH.to_vec(), Some(2), "OXSHMEM_PES=2", "WORLD_SIZE=4"),
        (OURS.to_vec(), Some(3), "OXSHMEM_PES=3", "OXSHMEM_WORLD_SIZE=2"),
    ] {
        let message = read(&variables, threads).unwrap_err().to_string();
        assert!(message.contains(one) && message.contains(other), "{message}");
    }
}

#[test]
fn what_is_missing_is_named_beside_what_is_there() {
    for missing in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"] {
        let rest: Vec<_> = TORCH.into_iter().filter(|(name, _)| *name != missing).collect();
        let error = read(&rest, None).unwrap_err();
        let named = matches!(&error, Error::MissingVariable { missing: named, .. } if *named == missing);
        assert!(named, "{error}");
    }
    let error = read(&[("OXSHMEM_RANK", "0")], None).unwrap_err().to_string();
    assert!(error.contains("OXSHMEM_RANK=\"0\"") && error.contains("OXSHMEM_WORLD_SIZE"), "{error}");
    assert!(read(&[("MASTER_PORT", "1")], None).is_err());
    assert!(read(&[("LOCAL_WORLD_SIZE", "1")], None).is_err());
}

#[test]
fn values_that_mean_nothing_are_errors() {
    for (name, value) in
        [("RANK", "-1"), ("RANK", "x"), ("WORLD_SIZE", "0"), ("WORLD_SIZE", "1025"), ("LOCAL_RANK", "1.5")]
    {
        let change: Vec<_> =
            TORCH.iter().map(|&(of, was)| (of, if of == name { value } else { was })).collect();
        let error = read(&change, None).unwrap_err();
        assert!(matches!(error, Error::Environment { variable, .. } if variable == name), "{error}");
    }
}

const SLURM: [(&str, &str); 6] = [
    ("SLURM_PROCID", "2"),
    ("SLURM_STEP_NUM_TASKS", "4"),
    ("SLURM_NTASKS", "4"),
    ("SLURM_LOCALID", "2"),
    ("SLURM_JOB_ID", "77"),
    ("SLURM_STEP_ID", "1"),
];
const PMIX: [(&str, &str); 6] = [
    ("PMIX_NAMESPACE", "99@1"),
    ("PMIX_RANK", "1"),
    ("OMPI_COMM_WORLD_RANK", "1"),
    ("OMPI_COMM_WORLD_SIZE", "2"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
];
const PMI: [(&str, &str); 5] = [
    ("PMI_FD", "9"),
    ("PMI_RANK", "1"),
    ("PMI_SIZE", "2"),
    ("MPI_LOCALRANKID", "1"),
    ("MPI_LOCALNRANKS", "2"),
];

/// The variables with some of them changed, taken away (by no value) or added.
fn changed<'a>(of: &[(&'a str, &'a str)], changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = of.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    kept.chain(changes.iter().filter(|(_, value)| !value.is_empty())).copied().collect()
}

#[test]
fn a_task_of_srun_is_a_pe_and_a_batch_script_is_alone() {
    let launched = read(&SLURM, None).unwrap().unwrap();
    assert_eq!((launched.rank, launched.size, launched.local_rank), (2, 4, 2));
    assert_eq!(job(launched), "srun:SLURM_JOB_ID=77:SLURM_STEP_ID=1");
    let old = changed(&SLURM, &[("SLURM_STEP_NUM_TASKS", "")]);
    assert_eq!(read(&old, None).unwrap().unwrap().size, 4);
    let batch =
        changed(&SLURM, &[("SLURM_STEP_ID", ""), ("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "")]);
    assert!(read(&batch, Some(4)).unwrap().is_none());
    // An interactive shell is a step of one task, in which threads may be wanted.
    let shell =
        [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "1"), ("SLURM_LOCALID", "0")];
    assert_eq!(read(&changed(&SLURM, &shell), Some(4)).unwrap().unwrap().size, 1);
}

#[test]
fn a_server_goes_before_srun_and_a_place_before_a_server() {
    let all = |families: &[&[(&'static str, &'static str)]]| families.concat();
    let automatic = |variables: &[(&str, &str)]| choose(variables, Choice::Auto, None).unwrap().unwrap();
    assert!(matches!(automatic(&PMIX), Found::Pmix(_)));
    assert!(matches!(automatic(&PMI), Found::Pmi(_)));
    assert!(matches!(automatic(&all(&[&PMI, &SLURM])), Found::Pmi(_)));
    assert!(matches!(automatic(&all(&[&PMIX, &SLURM])), Found::Pmix(_)));
    let own = automatic(&all(&[&PMIX, &OURS, &SLURM]));
    assert!(matches!(own, Found::Place(Launched { rank: 1, size: 2, .. })), "{own:?}");
    // PyTorch's address alone is no torchrun where another launcher is there.
    for family in [&PMIX[..], &PMI, &SLURM, &OURS] {
        automatic(&all(&[family, &[("MASTER_ADDR", "a"), ("MASTER_PORT", "1")]]));
    }
    for (choice, variables) in [
        (Choice::Slurm, all(&[&PMI, &SLURM])),
        (Choice::Torchrun, all(&[&OURS, &TORCH])),
        (Choice::Own, all(&[&OURS, &TORCH])),
    ] {
        let found = choose(&variables, choice, None).unwrap().unwrap();
        assert!(matches!(found, Found::Place(_)), "{found:?}");
    }
    assert!(choose(&all(&[&OURS, &TORCH]), Choice::Nothing, Some(3)).unwrap().is_none());
    for choice in
        [Choice::Own, Choice::Torchrun, Choice::Pmix, Choice::Slurm, Choice::Pmi(pmi::Protocol::Two)]
    {
        let error = choose(&[], choice, None).unwrap_err();
        assert!(
            matches!(&error, Error::NoBootstrap { by, .. } if by.starts_with("OXSHMEM_BOOTSTRAP=")),
            "{error}"
        );
    }
}

#[test]
fn what_servers_and_srun_contradict_is_named_with_both_values() {
    for (variables, threads, one, other) in [
        (changed(&SLURM, &[("SLURM_NTASKS", "5")]), None, "SLURM_STEP_NUM_TASKS=4", "SLURM_NTASKS=5"),
        (changed(&SLURM, &[("SLURM_PROCID", "4")]), None, "SLURM_PROCID=4", "SLURM_STEP_NUM_TASKS=4"),
        (changed(&SLURM, &[("SLURM_LOCALID", "3")]), None, "SLURM_LOCALID=3", "SLURM_PROCID=2"),
        (
            changed(&SLURM, &[("SLURM_STEP_NUM_NODES", "2")]),
            None,
            "SLURM_STEP_NUM_NODES=2",
            "SLURM_STEP_NUM_TASKS=4",
        ),
        (
            changed(&SLURM, &[("SLURM_STEP_TASKS_PER_NODE", "2(x2)")]),
            None,
            "SLURM_STEP_TASKS_PER_NODE=2(x2)",
            "SLURM_STEP_NUM_TASKS=4",
        ),
        (SLURM.to_vec(), Some(2), "OXSHMEM_PES=2", "SLURM_STEP_NUM_TASKS=4"),
        (changed(&PMIX, &[("OMPI_COMM_WORLD_RANK", "0")]), None, "PMIX_RANK=1", "OMPI_COMM_WORLD_RANK=0"),
        (changed(&PMIX, &[("OMPI_COMM_WORLD_SIZE", "1")]), None, "PMIX_RANK=1", "OMPI_COMM_WORLD_SIZE=1"),
        (
            changed(&PMIX, &[("OMPI_COMM_WORLD_SIZE", "4")]),
            None,
            "OMPI_COMM_WORLD_LOCAL_SIZE=2",
            "OMPI_COMM_WORLD_SIZE=4",
        ),
        (PMIX.to_vec(), Some(2), "OXSHMEM_PES=2", "OMPI_COMM_WORLD_SIZE=2"),
        (changed(&PMI, &[("MPI_LOCALNRANKS", "")]), Some(3), "OXSHMEM_PES=3", "PMI_SIZE=2"),
        (changed(&PMI, &[("PMI_RANK", "2")]), None, "PMI_RANK=2", "PMI_SIZE=2"),
        (changed(&PMI, &[("PMI_SIZE", "4")]), None, "MPI_LOCALNRANKS=2", "PMI_SIZE=4"),
        (
            [&OURS[..], &changed(&PMI, &[("PMI_RANK", "0"), ("MPI_LOCALRANKID", "0")])].concat(),
            None,
            "OXSHMEM_RANK=1",
            "PMI_RANK=0",
        ),
        ([&TORCH[..], &PMIX].concat(), None, "RANK=3", "PMIX_RANK=1"),
        (
            [&PMIX[..], &changed(&PMI, &[("PMI_SIZE", "3"), ("MPI_LOCALNRANKS", "")])].concat(),
            None,
            "OMPI_COMM_WORLD_SIZE=2",
            "PMI_SIZE=3",
        ),
    ] {
        let message = choose(&variables, Choice::Auto, threads).unwrap_err().to_string();
        assert!(message.contains(one) && message.contains(other), "{message}");
    }
}

#[test]
fn a_launcher_that_cannot_be_asked_is_an_error_and_not_a_lone_pe() {
    for (variables, present, absent) in [
        (
            vec![("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "0")],
            "OMPI_COMM_WORLD_RANK",
            "PMIX_NAMESPACE",
        ),
        (changed(&PMIX, &[("PMIX_RANK", "")]), "PMIX_NAMESPACE", "PMIX_RANK"),
        (changed(&PMI, &[("PMI_FD", "")]), "PMI_RANK", "PMI_FD"),
        (changed(&PMI, &[("PMI_RANK", "")]), "PMI_FD", "PMI_RANK"),
        (changed(&PMI, &[("PMI_SIZE", "")]), "PMI_FD", "PMI_SIZE"),
        (vec![("PMI_PORT", "host:1")], "PMI_PORT", "PMI_ID"),
        (changed(&SLURM, &[("SLURM_STEP_ID", "")]), "SLURM_PROCID", "SLURM_STEP_ID"),
        (changed(&SLURM, &[("SLURM_LOCALID", "")]), "SLURM_PROCID", "SLURM_LOCALID"),
    ] {
        let error = choose(&variables, Choice::Auto, None).unwrap_err();
        let named = matches!(&error, Error::MissingVariable { present: p, missing: m, .. } if *p == present && *m == absent);
        assert!(named, "{error}");
    }
    for (name, value) in [("MV2_COMM_WORLD_SIZE", "2"), ("JSM_NAMESPACE_SIZE", "4"), ("FLUX_JOB_SIZE", "8")] {
        let error = choose(&[(name, value)], Choice::Auto, None).unwrap_err();
        assert!(
            matches!(&error, Error::NoBootstrap { by, .. } if *by == format!("{name}={value}")),
            "{error}"
        );
    }
    assert!(choose(&[("FLUX_JOB_SIZE", "1")], Choice::Auto, None).unwrap().is_none());
    for (name, value) in [("PMI_FD", "-1"), ("PMI_FD", "x"), ("PMI_SIZE", "0"), ("PMI_RANK", "one")] {
        let error = choose(&changed(&PMI, &[(name, value)]), Choice::Auto, None).unwrap_err();
        assert!(matches!(error, Error::Environment { variable, .. } if variable == name), "{error}");
    }
}
