//! The extended protocol: Parse, Bind, Describe, Execute, Close.
//!
//! A statement is planned by Parse to learn its types, and again by every Bind, so that it sees the catalog and the
//! settings of that moment.

use millpond_catalog::SqlType;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete, PortalSuspended};
use pgwire::messages::response::EmptyQueryResponse;

use super::connection::Connection;
use super::decode;
use super::format::Format;
use super::message::{Bind, Target};
use super::rows::row_description;
use crate::error::{Error, Result, SessionError};
use crate::execute::{parse, result_columns};
use crate::outcome::Outcome;
use crate::session::portal::{FetchRows, fetch};
use crate::session::{Portal, PortalState, PreparedStatement, Work};

/// Oids that leave a parameter's type open: none, and `unknown`.
const UNSPECIFIED: [u32; 2] = [0, 705];

impl Connection {
    pub(super) fn parse(&mut self, name: String, text: &str, types: &[u32]) -> Result<()> {
        if !name.is_empty() && self.session.info.statements.contains(&name) {
            return Err(SessionError::StatementExists(name).into());
        }
        let mut statements = parse(text)?;
        if statements.len() > 1 {
            return Err(SessionError::MultipleStatements.into());
        }
        let declared = types
            .iter()
            .map(|oid| declared_type(*oid))
            .collect::<Result<Vec<_>>>()?;
        let work = self.begin_work(text);
        let prepared = self
            .execution(&work)
            .prepare_statement(statements.pop(), declared);
        self.end_work(work);
        self.session.info.statements.insert(name, prepared?);
        self.outbox.put(Message::ParseComplete(ParseComplete::new()))
    }

    pub(super) fn bind(&mut self, bind: Bind) -> Result<()> {
        let prepared = self.session.statement(&bind.statement)?;
        if !bind.portal.is_empty() && self.session.portals.contains_key(&bind.portal) {
            return Err(SessionError::PortalExists(bind.portal).into());
        }
        let values = self.parameters(&bind, &prepared)?;
        let formats = formats(&bind.result_formats)?;
        let work = self.begin_work(prepared.statement.as_ref().map_or("", |s| s.text()));
        let bound = self.bind_plan(&work, &prepared, &values);
        self.end_work(work);
        let (state, columns) = bound?;
        let width = columns.as_ref().map_or(0, Vec::len);
        if formats.len() > 1 && formats.len() != width {
            let text = format!(
                "bind message has {} result formats but query has {width} columns",
                formats.len()
            );
            return Err(SessionError::WrongParameters(text).into());
        }
        let portal = Portal {
            columns,
            formats,
            hold: false,
            live: false,
            number: 0,
            state,
        };
        self.session.add_portal(bind.portal, portal);
        self.outbox.put(Message::BindComplete(BindComplete::new()))
    }

    fn parameters(
        &self,
        bind: &Bind,
        prepared: &PreparedStatement,
    ) -> Result<Vec<datafusion::scalar::ScalarValue>> {
        let (given, wanted) = (bind.parameters.len(), prepared.parameters.len());
        let formats = formats(&bind.parameter_formats)?;
        if formats.len() > 1 && formats.len() != given {
            let text = format!(
                "bind message has {} parameter formats but {given} parameters",
                formats.len()
            );
            return Err(SessionError::WrongParameters(text).into());
        }
        if given != wanted {
            let text = format!(
                "bind message supplies {given} parameters, but prepared statement \"{}\" requires {wanted}",
                bind.statement
            );
            return Err(SessionError::WrongParameters(text).into());
        }
        let settings = self.session.info.settings.read();
        let time_zone = settings.current().time_zone();
        let values = bind.parameters.iter().zip(&prepared.parameters).enumerate();
        values
            .map(|(i, (value, sql_type))| {
                decode::parameter(
                    i + 1,
                    value.as_deref(),
                    Format::of_column(&formats, i),
                    sql_type,
                    time_zone,
                )
            })
            .collect()
    }

    fn bind_plan(
        &mut self,
        work: &Work,
        prepared: &PreparedStatement,
        values: &[datafusion::scalar::ScalarValue],
    ) -> Result<(PortalState, Option<Vec<millpond_sql::plan::OutputColumn>>)> {
        let Some(statement) = &prepared.statement else {
            return Ok((PortalState::Ready(None), None));
        };
        let execution = self.execution(work);
        let mut planned = execution.plan(statement, &prepared.declared)?;
        let columns = result_columns(execution.session, &planned.plan)?;
        if shape(columns.as_deref()) != shape(prepared.columns.as_deref()) {
            return Err(SessionError::ResultTypeChanged.into());
        }
        if !values.is_empty() {
            planned.plan = planned.plan.bind(values)?;
        }
        Ok((
            PortalState::Ready(Some(Box::new((statement.clone(), planned)))),
            columns,
        ))
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<()> {
        let (columns, formats) = match target {
            Target::Statement => {
                let prepared = self.session.statement(name)?;
                let oids = prepared.parameters.iter().map(SqlType::oid).collect();
                self.outbox
                    .put(Message::ParameterDescription(ParameterDescription::new(oids)))?;
                (prepared.columns.clone(), Vec::new())
            }
            Target::Portal => {
                let portal = self.session.portals.get(name);
                let portal = portal.ok_or_else(|| Error::from(SessionError::NoPortal(name.to_owned())))?;
                (portal.columns.clone(), portal.formats.clone())
            }
        };
        self.outbox.put(match columns {
            Some(columns) => row_description(&columns, &formats),
            None => Message::NoData(NoData::new()),
        })
    }

    pub(super) async fn execute(&mut self, name: &str, rows_max: u32) -> Result<()> {
        let portal = self.session.portals.remove(name);
        let mut portal = portal.ok_or_else(|| Error::from(SessionError::NoPortal(name.to_owned())))?;
        self.session.grouped = true;
        let work = self.begin_work(match &portal.state {
            PortalState::Ready(Some(bound)) => bound.0.text(),
            PortalState::Ready(None) | PortalState::Open { .. } | PortalState::Finished => "",
        });
        let result = self.run_portal(&work, name, &mut portal, rows_max).await;
        self.end_work(work);
        result?;
        self.session.portals.insert(name.to_owned(), portal);
        Ok(())
    }

    async fn run_portal(
        &mut self,
        work: &Work,
        name: &str,
        portal: &mut Portal,
        rows_max: u32,
    ) -> Result<()> {
        if let PortalState::Ready(bound) = &mut portal.state {
            let outcome = match bound.take() {
                None => Outcome::Empty,
                Some(bound) => {
                    let (statement, planned) = *bound;
                    // A block may have failed since Bind.
                    self.session.check_allowed(&statement.statement)?;
                    self.execution(work).carry_out(&statement, planned).await?
                }
            };
            self.put_notices()?;
            portal.state = match outcome {
                Outcome::Rows { rows, tag, .. } => PortalState::Open {
                    rows: FetchRows::shared(rows),
                    tag,
                },
                Outcome::Done { tag } => {
                    portal.state = PortalState::Finished;
                    return self.put_complete(tag);
                }
                Outcome::CopyIn(copy) => {
                    portal.state = PortalState::Finished;
                    let tag = self.copy_in(work, *copy).await?;
                    return self.put_complete(tag);
                }
                Outcome::CopyOut {
                    columns,
                    writer,
                    rows,
                } => {
                    portal.state = PortalState::Finished;
                    let tag = self.copy_out(work, columns, &writer, rows).await?;
                    return self.put_complete(tag);
                }
                Outcome::Empty => {
                    portal.state = PortalState::Ready(None);
                    return self
                        .outbox
                        .put(Message::EmptyQueryResponse(EmptyQueryResponse::new()));
                }
            };
        }
        let PortalState::Open { rows, tag } = &portal.state else {
            return Err(SessionError::PortalFinished(name.to_owned()).into());
        };
        let limit = (rows_max > 0).then_some(u64::from(rows_max));
        let columns = portal.columns.as_deref().unwrap_or_default();
        let sent = self
            .send_rows(work, columns, &portal.formats, fetch(rows.clone(), limit), false)
            .await?;
        self.session.apply_setting_changes()?;
        if limit == Some(sent) {
            return self.outbox.put(Message::PortalSuspended(PortalSuspended::new()));
        }
        self.put_complete(tag.text(sent))
    }

    /// Closing what does not exist is no error.
    pub(super) fn close(&mut self, target: Target, name: &str) -> Result<()> {
        match target {
            Target::Statement => drop(self.session.info.statements.remove(name)),
            Target::Portal => drop(self.session.portals.remove(name)),
        }
        self.outbox.put(Message::CloseComplete(CloseComplete::new()))
    }
}

fn declared_type(oid: u32) -> Result<Option<SqlType>> {
    if UNSPECIFIED.contains(&oid) {
        return Ok(None);
    }
    match SqlType::from_oid(oid) {
        Some(sql_type) => Ok(Some(sql_type)),
        // `character`, which is read as text.
        None if oid == 1042 => Ok(Some(SqlType::Text)),
        None => {
            let message = format!("parameters of the type with OID {oid} are not supported");
            Err(SessionError::Unsupported { message, hint: None }.into())
        }
    }
}

fn formats(codes: &[i16]) -> Result<Vec<Format>> {
    codes
        .iter()
        .map(|code| {
            let unknown = || SessionError::Protocol(format!("unsupported format code: {code}")).into();
            Format::from_code(*code).ok_or_else(unknown)
        })
        .collect()
}

/// What a client relies on between Parse and Bind.
fn shape(columns: Option<&[millpond_sql::plan::OutputColumn]>) -> Option<Vec<(&str, &SqlType)>> {
    columns.map(|columns| columns.iter().map(|c| (c.name.as_str(), &c.sql_type)).collect())
}
