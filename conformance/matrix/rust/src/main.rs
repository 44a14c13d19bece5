//! An MCP server on the official Rust SDK, which speaks both eras. Here it speaks
//! the one it is told to.
//!
//!     toolhost-conformance-matrix [--port N] [--era legacy|modern] [--reply sse|json]

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::*,
    service::{RequestContext, SubscriptionContext},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, sync::watch, time};

const PATIENCE: Duration = Duration::from_secs(5);

/// What all sessions and requests share.
#[derive(Default)]
struct Shared {
    /// What the tools did, one line for each event.
    ledger: watch::Sender<Vec<String>>,
    /// Whether the tool grown was added.
    grown: watch::Sender<bool>,
    /// The clients of sessions, to be told of new tools.
    peers: Mutex<Vec<rmcp::Peer<RoleServer>>>,
}

impl Shared {
    fn write(&self, line: String) {
        self.ledger.send_modify(|lines| lines.push(line));
    }

    /// Returns all lines, as soon as `until` is one of them or PATIENCE ends.
    async fn read(&self, until: &str) -> Vec<String> {
        let mut ledger = self.ledger.subscribe();
        let there = ledger.wait_for(|lines| until.is_empty() || lines.iter().any(|l| l == until));
        let _ = time::timeout(PATIENCE, there).await;
        self.ledger.borrow().clone()
    }
}

#[derive(Clone)]
struct Server {
    shared: Arc<Shared>,
    versions: &'static [ProtocolVersion],
}

impl ServerHandler for Server {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.versions)
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_tool_list_changed()
                .build(),
        )
    }

    async fn on_initialized(&self, context: rmcp::service::NotificationContext<RoleServer>) {
        self.shared.peers.lock().unwrap().push(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut grown = self.shared.grown.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                _ = grown.changed() => context.sink().notify_tool_list_changed().await
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
            }
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let text = json!({"type": "string"});
        let mut tools = vec![
            tool("echo", "Answers with the text.", json!({"text": text})),
            tool(
                "slow",
                "Takes ms milliseconds in five steps, with progress after each.",
                json!({"text": text, "ms": {"type": "number"}}),
            ),
            tool(
                "ledger",
                "Answers with the revision spoken and what the tools did.",
                json!({"until": text}),
            ),
            tool("grow", "Adds the tool grown.", json!({})),
        ];
        if *self.shared.grown.borrow() {
            tools.push(tool(
                "grown",
                "A tool that was not always there.",
                json!({}),
            ));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = arguments["text"].as_str().unwrap_or_default();
        let answer = match request.name.as_ref() {
            "echo" => {
                self.shared.write(format!("echo {text}"));
                text.to_string()
            }
            "slow" => {
                let ms = arguments["ms"].as_f64().unwrap_or_default();
                self.slow(text, Duration::from_secs_f64(ms / 1000.0), &context)
                    .await?;
                text.to_string()
            }
            "ledger" => {
                let spoken = context.protocol_version().map(|v| v.to_string());
                let lines = self
                    .shared
                    .read(arguments["until"].as_str().unwrap_or_default())
                    .await;
                [vec![spoken.unwrap_or_default()], lines]
                    .concat()
                    .join("\n")
            }
            "grow" => {
                self.shared.grown.send_replace(true);
                let peers = self.shared.peers.lock().unwrap().clone();
                for peer in peers {
                    let _ = peer.notify_tool_list_changed().await; // the session may be over
                }
                "there is a new tool".to_string()
            }
            "grown" => "grown".to_string(),
            name => {
                return Err(ErrorData::invalid_params(
                    format!("unknown tool {name}"),
                    None,
                ));
            }
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(answer)]).into())
    }
}

impl Server {
    async fn slow(
        &self,
        text: &str,
        total: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.shared.write(format!("slow {text}"));
        for step in 1..=5 {
            tokio::select! {
                () = time::sleep(total / 5) => {}
                () = context.ct.cancelled() => {
                    self.shared.write(format!("cancelled {text}"));
                    return Err(ErrorData::internal_error("cancelled", None));
                }
            }
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, step as f64).with_total(5.0);
                context
                    .peer
                    .notify_progress(progress)
                    .await
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
        Ok(())
    }
}

fn tool(name: &'static str, description: &'static str, properties: Value) -> Tool {
    let Value::Object(schema) = json!({"type": "object", "properties": properties}) else {
        unreachable!("it is written as an object");
    };
    Tool::new(name, description, Arc::new(schema))
}

/// The value of an option on the command line.
fn option(name: &str, default: &str) -> String {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1).unwrap_or(default.to_string())
}

#[tokio::main]
async fn main() {
    let modern = option("--era", "legacy") == "modern";
    let server = Server {
        shared: Arc::default(),
        versions: if modern {
            &[ProtocolVersion::V_2026_07_28]
        } else {
            &[ProtocolVersion::V_2025_11_25]
        },
    };
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default()
            .with_legacy_session_mode(!modern)
            .with_json_response(option("--reply", "sse") == "json"),
    );
    let port: u16 = option("--port", "0").parse().expect("--port is a number");
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    println!("{}", json!({"url": format!("http://{address}/mcp")}));
    tokio::spawn(async {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        std::process::exit(0);
    });
    let router = axum::Router::new().nest_service("/mcp", service);
    axum::serve(listener, router)
        .await
        .expect("it serves until stdin ends");
}
