//! What the query planner of the library sees of the world: relations, functions, types and options.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::error::Error;
use crate::function;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{DataFusionError, TableReference};
use datafusion::config::ConfigOptions;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion::logical_expr::{AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use millpond_catalog::{Object, ObjectId, ObjectKind};

use super::create_view;
use super::expression::Operators;
use super::names;
use super::types::Types;
use super::window::WindowRelations;
use super::write::TargetRows;
use super::{PlanContext, Purpose};

/// The functions that come with the library, by name and alias.
struct DefaultFunctions {
    scalar: HashMap<String, Arc<ScalarUDF>>,
    higher_order: HashMap<String, Arc<HigherOrderUDF>>,
    aggregate: HashMap<String, Arc<AggregateUDF>>,
    window: HashMap<String, Arc<WindowUDF>>,
    expr_planners: Vec<Arc<dyn ExprPlanner>>,
}

static DEFAULTS: LazyLock<DefaultFunctions> = LazyLock::new(|| {
    let mut expr_planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(Operators)];
    expr_planners.extend(SessionStateDefaults::default_expr_planners());
    let mut defaults = DefaultFunctions {
        scalar: HashMap::new(),
        higher_order: HashMap::new(),
        aggregate: HashMap::new(),
        window: HashMap::new(),
        expr_planners,
    };
    for udf in SessionStateDefaults::default_scalar_functions()
        .into_iter()
        .chain(function::scalar_functions())
    {
        insert(&mut defaults.scalar, udf.name(), udf.aliases(), &udf);
    }
    for udf in SessionStateDefaults::default_higher_order_functions() {
        insert(&mut defaults.higher_order, udf.name(), udf.aliases(), &udf);
    }
    for udf in SessionStateDefaults::default_aggregate_functions() {
        insert(&mut defaults.aggregate, udf.name(), udf.aliases(), &udf);
    }
    for udf in SessionStateDefaults::default_window_functions() {
        insert(&mut defaults.window, udf.name(), udf.aliases(), &udf);
    }
    defaults
});

fn insert<T>(functions: &mut HashMap<String, Arc<T>>, name: &str, aliases: &[String], udf: &Arc<T>) {
    functions.insert(name.to_owned(), Arc::clone(udf));
    for alias in aliases {
        functions.insert(alias.clone(), Arc::clone(udf));
    }
}

/// One statement's view of a [`PlanContext`].
pub struct Provider<'a> {
    context: PlanContext<'a>,
    purpose: Purpose,
    options: ConfigOptions,
    scalar: HashMap<String, Arc<ScalarUDF>>,
    aggregate: HashMap<String, Arc<AggregateUDF>>,
    window: HashMap<String, Arc<WindowUDF>>,
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
    /// Rows of the table that the statement changes.
    rows: Option<TargetRows>,
    /// Plain views that were named.
    views: Mutex<Vec<ObjectId>>,
}

impl fmt::Debug for Provider<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("purpose", &self.purpose)
            .finish_non_exhaustive()
    }
}

impl<'a> Provider<'a> {
    /// The aggregate of this name, for plans that the planner writes itself.
    pub fn aggregate(&self, name: &str) -> DataFusionResult<Arc<AggregateUDF>> {
        self.get_aggregate_meta(name)
            .ok_or_else(|| DataFusionError::Internal(format!("there is no aggregate {name}")))
    }

    pub fn new(
        context: PlanContext<'a>,
        purpose: Purpose,
        windows: Arc<WindowRelations>,
        rows: Option<TargetRows>,
    ) -> Self {
        let relations = context.relations;
        let mut scalar = HashMap::new();
        relations
            .scalar_functions()
            .iter()
            .for_each(|udf| insert(&mut scalar, udf.name(), udf.aliases(), udf));
        let mut aggregate = HashMap::new();
        relations
            .aggregate_functions()
            .iter()
            .for_each(|udf| insert(&mut aggregate, udf.name(), udf.aliases(), udf));
        let mut window = HashMap::new();
        relations
            .window_functions()
            .iter()
            .for_each(|udf| insert(&mut window, udf.name(), udf.aliases(), udf));
        Self {
            context,
            purpose,
            options: config_options(context.settings.time_zone()),
            scalar,
            aggregate,
            window,
            relation_planners: vec![windows],
            rows,
            views: Mutex::default(),
        }
    }

    pub fn take_views(&self) -> Vec<ObjectId> {
        std::mem::take(&mut *self.views.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What stands for an object in a plan.
    fn source(&self, object: &Arc<Object>) -> DataFusionResult<Arc<dyn TableSource>> {
        if !matches!(object.kind, ObjectKind::PlainView(_)) {
            return Ok(self.context.relations.table_source(object));
        }
        let (expanded, views) = create_view::expand(object, self.purpose, &self.context).map_err(external)?;
        self.views
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(views);
        Ok(Arc::new(expanded))
    }
}

/// Options of the library's planner, analyzer and optimizer for a session in `time_zone`.
pub fn config_options(time_zone: &str) -> ConfigOptions {
    let mut options = ConfigOptions::default();
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.sql_parser.collect_spans = true;
    options.sql_parser.enable_ident_normalization = true;
    options.execution.time_zone = Some(time_zone.to_owned());
    options
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl ContextProvider for Provider<'_> {
    fn get_table_source(&self, reference: TableReference) -> DataFusionResult<Arc<dyn TableSource>> {
        let (schema, name) = (reference.schema(), reference.table());
        if let Some(source) = self.rows.as_ref().and_then(|rows| rows.find(schema, name)) {
            return Ok(source);
        }
        let relations = self.context.relations;
        // pg_catalog is searched before the search path, as Postgres does.
        let system = match schema {
            Some(schema) if names::SYSTEM_SCHEMAS.contains(&schema) => relations.system_table(schema, name),
            Some(_) => None,
            None => relations.system_table("pg_catalog", name).or_else(|| {
                let path = self.context.settings.search_path();
                let system = path
                    .iter()
                    .filter(|s| names::SYSTEM_SCHEMAS.contains(&s.as_str()));
                system
                    .into_iter()
                    .find_map(|schema| relations.system_table(schema, name))
            }),
        };
        if let Some(source) = system {
            if self.purpose == Purpose::View {
                return Err(external(
                    Error::unsupported(format!(
                        "streaming views cannot read the system relation \"{name}\""
                    ))
                    .with_hint("Read it with a SELECT."),
                ));
            }
            return Ok(source);
        }
        match names::find(schema, name, &self.context) {
            Some(object) if matches!(object.kind, millpond_catalog::ObjectKind::Sink(_)) => Err(external(
                Error::new(
                    crate::error::ErrorKind::WrongObjectType,
                    format!("\"{name}\" is a sink: its rows are outside of the server"),
                )
                .with_hint("Read what the sink reads."),
            )),
            Some(object) => self.source(object),
            None => Err(external(names::not_found(schema, name, &self.context))),
        }
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> DataFusionResult<Arc<dyn TableSource>> {
        let name = name.to_lowercase();
        let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
        self.context
            .relations
            .table_function(name, args)
            .unwrap_or_else(|| {
                let message = format!("function {name} does not exist in FROM");
                Err(external(
                    Error::new(crate::error::ErrorKind::UndefinedFunction, message).with_hint_if(
                        crate::suggest::did_you_mean(name, ["tumble", "hop", "generate_series", "unnest"]),
                    ),
                ))
            })
    }

    fn create_cte_work_table(&self, name: &str, schema: SchemaRef) -> DataFusionResult<Arc<dyn TableSource>> {
        if self.purpose == Purpose::View {
            return Err(external(Error::unsupported(
                "WITH RECURSIVE is not supported in a streaming view",
            )));
        }
        self.context.relations.recursive_table(name, schema)
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &DEFAULTS.expr_planners
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(Types {
            named: self.purpose != Purpose::Insert,
        }))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalar
            .get(name)
            .or_else(|| DEFAULTS.scalar.get(name))
            .cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        DEFAULTS.higher_order.get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregate
            .get(name)
            .or_else(|| DEFAULTS.aggregate.get(name))
            .cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.window
            .get(name)
            .or_else(|| DEFAULTS.window.get(name))
            .cloned()
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.scalar
            .keys()
            .chain(DEFAULTS.scalar.keys())
            .cloned()
            .collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        DEFAULTS.higher_order.keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.aggregate
            .keys()
            .chain(DEFAULTS.aggregate.keys())
            .cloned()
            .collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.window
            .keys()
            .chain(DEFAULTS.window.keys())
            .cloned()
            .collect()
    }
}
