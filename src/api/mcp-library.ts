/** What the server of MCP takes of the library: a bundle leaves out the rest. */
export { createMcpHandler, fromJsonSchema, McpServer, ProtocolError } from "@modelcontextprotocol/server";
export type { jsonSchemaValidator, JsonSchemaValidatorResult } from "@modelcontextprotocol/server";
