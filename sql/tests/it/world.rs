//! A world to plan in: a catalog that statements change, and relations as the server would give them, without rows.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Column, DFSchema, DFSchemaRef};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::logical_plan::Extension;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, TableSource, UserDefinedLogicalNodeCore};
use millpond_catalog::{Catalog, Edit, Object, ObjectId, Options, SqlType};
use millpond_sql::{PlanContext, PlanKind, Relations, Settings, Windows, plan_object};

pub struct World {
    pub catalog: Catalog,
    pub settings: Settings,
    next_id: u64,
}

impl World {
    pub fn new() -> Self {
        Self {
            catalog: Catalog::default(),
            settings: Settings::default(),
            next_id: 1,
        }
    }

    pub fn context(&self) -> PlanContext<'_> {
        PlanContext {
            catalog: &self.catalog,
            settings: &self.settings,
            relations: &NoRows,
            parameter_types: &[],
        }
    }

    /// Carries out what changes the catalog or the session, after planning the object's own text again.
    pub fn apply(&mut self, kind: PlanKind) {
        match kind {
            PlanKind::CreateRelation(create) => {
                if let Some(id) = create.replaces {
                    self.catalog.apply(Edit::Dropped(id));
                }
                self.create(create.object.with_id(ObjectId(self.next_id)), None);
            }
            PlanKind::CreateView(create) => {
                if let Some(id) = create.replaces {
                    self.catalog.apply(Edit::Dropped(id));
                }
                self.create(create.object.with_id(ObjectId(self.next_id)), Some(create.query));
            }
            PlanKind::Drop(drop) => drop
                .objects
                .into_iter()
                .for_each(|id| self.catalog.apply(Edit::Dropped(id))),
            PlanKind::Set(set) => self.settings.set(&set.name, set.value.as_deref()).unwrap(),
            PlanKind::ResetAll => self.settings.reset_all(),
            _ => {}
        }
    }

    fn create(&mut self, object: Object, query: Option<LogicalPlan>) {
        // At start-up the server has default settings.
        let settings = Settings::default();
        let context = PlanContext {
            catalog: &self.catalog,
            settings: &settings,
            relations: &NoRows,
            parameter_types: &[],
        };
        let (again, query_again) = plan_object(&object.create_sql, object.id, &context)
            .unwrap_or_else(|e| panic!("{}: {e:?}", object.create_sql));
        assert_eq!(without_positions(&again), without_positions(&object));
        assert_eq!(query_again.map(|q| q.to_string()), query.map(|q| q.to_string()));
        self.catalog.apply(Edit::Created(Arc::new(object)));
        self.next_id += 1;
    }
}

/// The debug form, without places in the text, which canonical text moves.
fn without_positions(object: &Object) -> String {
    let text = format!("{object:?}");
    let mut parts = text.split("position: Some(");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    shown
}

/// Relations without rows.
pub struct NoRows;

#[derive(Debug)]
struct Empty(SchemaRef);

impl TableSource for Empty {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }
}

impl Relations for NoRows {
    fn table_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource> {
        Arc::new(Empty(object.schema()))
    }

    fn numbered_source(&self, object: &Arc<Object>) -> Arc<dyn TableSource> {
        let number = Field::new(millpond_sql::ROW_NUMBER, DataType::Int64, false);
        let schema = object.schema();
        let fields = schema.fields().iter().cloned().chain([Arc::new(number)]);
        Arc::new(Empty(Arc::new(Schema::new(fields.collect::<Vec<_>>()))))
    }

    fn written_source(&self, _object: &Arc<Object>, schema: SchemaRef) -> Arc<dyn TableSource> {
        Arc::new(Empty(schema))
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<dyn TableSource>> {
        let fields = match (schema, name) {
            ("pg_catalog", "pg_class") => vec![
                SqlType::Int8.field("oid", false),
                SqlType::Text.field("relname", false),
            ],
            ("sys", "queries") => vec![
                SqlType::Text.field("name", false),
                SqlType::Bool.field("is_active", false),
            ],
            _ => return None,
        };
        Some(Arc::new(Empty(Arc::new(Schema::new(fields)))))
    }

    fn system_table_names(&self, schema: &str) -> Vec<String> {
        match schema {
            "sys" => vec!["queries".to_owned()],
            "pg_catalog" => vec!["pg_class".to_owned()],
            _ => Vec::new(),
        }
    }

    fn window_assign(
        &self,
        input: LogicalPlan,
        time: Column,
        windows: Windows,
    ) -> DataFusionResult<LogicalPlan> {
        let Windows {
            size_us,
            slide_us,
            offset_us,
            cumulate,
        } = windows;
        let cumulate = if cumulate { " cumulate" } else { "" };
        let rule = format!("size={size_us} slide={slide_us} offset={offset_us}{cumulate}");
        Assign::plan(input, vec![Expr::Column(time)], rule)
    }

    fn session_assign(
        &self,
        input: LogicalPlan,
        time: Column,
        gap: Expr,
        keys: Vec<Column>,
    ) -> DataFusionResult<LogicalPlan> {
        let rule = format!("sessions by {} keys", keys.len());
        let exprs = [Expr::Column(time), gap].into_iter();
        Assign::plan(
            input,
            exprs.chain(keys.into_iter().map(Expr::Column)).collect(),
            rule,
        )
    }

    fn recursive_table(&self, _name: &str, schema: SchemaRef) -> DataFusionResult<Arc<dyn TableSource>> {
        Ok(Arc::new(Empty(schema)))
    }

    fn source_columns(
        &self,
        connector: &str,
        _options: &Options,
    ) -> millpond_sql::Result<Option<Vec<millpond_catalog::Column>>> {
        let column = |name: &str, sql_type| millpond_catalog::Column {
            name: name.to_owned(),
            sql_type,
            nullable: false,
            default: None,
        };
        Ok((connector == "rate").then(|| {
            vec![
                column("timestamp", SqlType::Timestamp),
                column("value", SqlType::Int8),
            ]
        }))
    }
}

/// Stands for the engine's node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Assign {
    input: LogicalPlan,
    /// The time comes first.
    exprs: Vec<Expr>,
    rule: String,
    schema: DFSchemaRef,
}

impl Assign {
    fn plan(input: LogicalPlan, exprs: Vec<Expr>, rule: String) -> DataFusionResult<LogicalPlan> {
        let data_type: DataType = exprs[0].get_type(input.schema())?;
        let qualifier = match &exprs[0] {
            Expr::Column(column) => column.relation.clone(),
            _ => None,
        };
        let bound = |name: &str| {
            (
                qualifier.clone(),
                Arc::new(Field::new(name, data_type.clone(), false)),
            )
        };
        let fields = input.schema().iter().map(|(q, f)| (q.cloned(), Arc::clone(f)));
        let fields = fields
            .chain([bound("window_start"), bound("window_end")])
            .collect();
        let schema = Arc::new(DFSchema::new_with_metadata(
            fields,
            input.schema().metadata().clone(),
        )?);
        let node = Self {
            input,
            exprs,
            rule,
            schema,
        };
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }
}

impl PartialOrd for Assign {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.rule.partial_cmp(&other.rule)
    }
}

impl UserDefinedLogicalNodeCore for Assign {
    fn name(&self) -> &str {
        "WindowAssign"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.exprs.clone()
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        ["window_start", "window_end"].map(str::to_owned).into()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "WindowAssign: {} {}", self.exprs[0], self.rule)
    }

    fn with_exprs_and_inputs(
        &self,
        exprs: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> DataFusionResult<Self> {
        let plan = Self::plan(inputs.remove(0), exprs, self.rule.clone())?;
        let LogicalPlan::Extension(extension) = plan else {
            unreachable!("an extension was built")
        };
        Ok(extension.node.as_any().downcast_ref::<Self>().unwrap().clone())
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let input = self.input.schema().fields().len();
        let read = self.exprs.iter().filter_map(|expr| match expr {
            Expr::Column(column) => self.input.schema().index_of_column(column).ok(),
            _ => None,
        });
        let mut needed: Vec<usize> = output_columns
            .iter()
            .copied()
            .filter(|c| *c < input)
            .chain(read)
            .collect();
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
