//! Whatever a client reads is the state after some of the commits, the first so many: never a part of a statement, never
//! views of different moments, and never an earlier state than the one before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use millpond_tests::{Server, ServerOptions, run, sorted};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_postgres::Client;

const STEPS: usize = 200;
const READERS: usize = 2;
const ACCOUNTS: usize = 12;
const GROUPS: usize = 3;

/// A group, a chain, a top-N, a diamond and a chain over it.
const VIEWS: [&str; 5] = [
    "sums AS SELECT grp, sum(balance) AS s, count(*) AS n FROM accounts GROUP BY grp",
    "total AS SELECT sum(s) AS s, sum(n) AS n FROM sums",
    "richest AS SELECT id, balance FROM accounts ORDER BY balance DESC, id LIMIT 3",
    "share AS SELECT a.id, a.grp, a.balance, g.s FROM accounts AS a JOIN sums AS g ON a.grp = g.grp",
    "best AS SELECT grp, max(balance) AS m, min(s) AS s FROM share GROUP BY grp",
];

const READ: &str = "SELECT 'account', id, balance, NULL FROM accounts
    UNION ALL SELECT 'sums', grp, s, n FROM sums
    UNION ALL SELECT 'total', NULL, s, n FROM total
    UNION ALL SELECT 'richest', id, balance, NULL FROM richest
    UNION ALL SELECT 'share', id, balance, s FROM share
    UNION ALL SELECT 'best', grp, m, s FROM best";

/// Rows as text, in order.
type State = Vec<String>;

/// What the table holds: the balance of each account that there is.
#[derive(Clone)]
struct Accounts([Option<i64>; ACCOUNTS]);

impl Accounts {
    /// The next statement, which changes the table.
    fn step(&mut self, random: &mut ChaCha8Rng) -> String {
        let open: Vec<usize> = (0..ACCOUNTS).filter(|id| self.0[*id].is_some()).collect();
        let id = random.random_range(0..ACCOUNTS);
        if self.0[id].is_none() {
            let balance = random.random_range(50..150);
            self.0[id] = Some(balance);
            return format!("INSERT INTO accounts VALUES ({id}, {}, {balance})", id % GROUPS);
        }
        if open.len() > 4 && random.random_bool(0.2) {
            self.0[id] = None;
            return format!("DELETE FROM accounts WHERE id = {id}");
        }
        // A transfer: both sides in one statement.
        let other = open[random.random_range(0..open.len())];
        let amount = random.random_range(1..40);
        for (id, change) in [(id, -amount), (other, amount)] {
            if let Some(balance) = &mut self.0[id] {
                *balance += change;
            }
        }
        format!(
            "UPDATE accounts SET balance = balance - CASE WHEN id = {id} THEN {amount} ELSE 0 END
             + CASE WHEN id = {other} THEN {amount} ELSE 0 END WHERE id IN ({id}, {other})"
        )
    }

    /// The last statement, after which all is different from before.
    fn end(&mut self) -> String {
        self.0
            .iter_mut()
            .flatten()
            .for_each(|balance| *balance += 1_000_000);
        "UPDATE accounts SET balance = balance + 1000000".to_owned()
    }

    /// What [`READ`] answers.
    fn state(&self) -> State {
        let open: Vec<(usize, i64)> = (0..ACCOUNTS).filter_map(|id| Some((id, self.0[id]?))).collect();
        let mut rows = Vec::new();
        let mut group_sums = [0; GROUPS];
        for (group, group_sum) in group_sums.iter_mut().enumerate() {
            let members = open.iter().filter(|(id, _)| id % GROUPS == group);
            let balances: Vec<i64> = members.map(|(_, balance)| *balance).collect();
            let Some(most) = balances.iter().max() else {
                continue;
            };
            let sum: i64 = balances.iter().sum();
            *group_sum = sum;
            rows.push(format!("sums {group} {sum} {}", balances.len()));
            rows.push(format!("best {group} {most} {sum}"));
        }
        for (id, balance) in &open {
            rows.push(format!("account {id} {balance} NULL"));
            rows.push(format!("share {id} {balance} {}", group_sums[id % GROUPS]));
        }
        let total: i64 = group_sums.iter().sum();
        rows.push(format!("total NULL {total} {}", open.len()));
        let mut by_balance = open;
        by_balance.sort_by_key(|(id, balance)| (-balance, *id));
        let richest = by_balance.iter().take(3);
        rows.extend(richest.map(|(id, balance)| format!("richest {id} {balance} NULL")));
        rows.sort();
        rows
    }
}

/// The steps after which each state was the current one, stamped before the statement is sent.
type Known = Arc<Mutex<HashMap<State, Vec<usize>>>>;

/// Reads until the last step is seen; the number of different steps seen.
async fn follow(client: Client, known: Known) -> Result<usize> {
    let (mut last, mut seen) = (0, 0);
    while last < STEPS {
        let state: State = sorted(&client, READ).await?;
        let step = {
            let known = known.lock().expect("no holder panics");
            let steps = known.get(&state).with_context(|| {
                format!("after step {last}, a state that never was:\n{}", state.join("\n"))
            })?;
            // Of several equal states the first that does not go back.
            *steps
                .iter()
                .find(|step| **step >= last)
                .with_context(|| format!("went back from step {last} to {steps:?}"))?
        };
        seen += usize::from(step > last);
        last = step;
    }
    Ok(seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_read_is_a_prefix_of_the_commits() -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let server = Server::start(ServerOptions::workers(2))?;
    let writer = server.connect().await?;
    run(
        &writer,
        "CREATE TABLE accounts (id int PRIMARY KEY, grp int NOT NULL, balance bigint NOT NULL)",
    )
    .await?;
    let mut accounts = Accounts([None; ACCOUNTS]);
    for _ in 0..ACCOUNTS {
        run(&writer, &accounts.step(&mut random)).await?;
    }
    for view in VIEWS {
        run(&writer, &format!("CREATE STREAMING VIEW {view}")).await?;
    }
    run(&writer, "FLUSH").await?;

    let known: Known = Arc::default();
    known
        .lock()
        .expect("no holder panics")
        .insert(accounts.state(), vec![0]);
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(tokio::spawn(follow(server.connect().await?, known.clone())));
    }
    for step in 1..=STEPS {
        let statement = if step < STEPS {
            accounts.step(&mut random)
        } else {
            accounts.end()
        };
        known
            .lock()
            .expect("no holder panics")
            .entry(accounts.state())
            .or_default()
            .push(step);
        run(&writer, &statement).await?;
    }
    for reader in readers {
        let seen = reader.await??;
        assert!(seen > 20, "only {seen} of {STEPS} states were seen");
    }
    Ok(())
}
