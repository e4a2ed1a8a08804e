// OpenAI's Agents SDK for JavaScript: an MCP server of an agent.
import { MCPServerStdio, MCPServerStreamableHttp, setTracingDisabled } from '@openai/agents';
import { drive } from './driving.mjs';

setTracingDisabled(true);
await drive(async (job) => {
  const [command, ...args] = job.target.command ?? [];
  const server = job.target.url
    ? new MCPServerStreamableHttp({ url: job.target.url, name: 'x' })
    : new MCPServerStdio({ command, args, env: job.target.env, name: 'x' });
  await server.connect();
  return {
    tools: () => server.listTools(),
    call: (name, given) => server.callTool(name, given),
    close: () => server.close(),
  };
});
